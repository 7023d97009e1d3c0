"""The host side of `cuda_kernels.matmul`: arrays of any library, the product as steps, and their launches.

    matmul, grouped                    what users call
    arrays (dlpack), finish            what they pass: arrays, and what is done to elements before they are stored
    recipe, steps, product             what is kept of a product, its launches, and its shapes and orders of memory
    repack, workspace                  copies of what TMA cannot take; memory of kernels that cut tiles along K
    choose, tune                       which configuration: by estimates, or measured
"""

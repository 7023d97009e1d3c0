"""The host side of `cuda_kernels.matmul`: arrays of any library, the product as steps, and their launches."""

// Every function here is compiled twice: NAME_bad has the fault, NAME_good has not. A comment "@NAME" marks the lines of the fault.
#pragma once
#include <stdint.h>
#define TWINS(NAME)                                                                                       \
    extern "C" __global__ void NAME##_bad(const int *in, int *out, int n) { NAME<false>(in, out, n); }    \
    extern "C" __global__ void NAME##_good(const int *in, int *out, int n) { NAME<true>(in, out, n); }
#define KERNEL template <bool GOOD> __device__ __forceinline__ void

__device__ __forceinline__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

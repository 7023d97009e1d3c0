// Functions that are called through a table of pointers to them.
typedef int (*Operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ Operation OPERATIONS[3] = {plus, minus, times};

extern "C" __global__ void pointers(const int *in, int *out) {
    int x = in[threadIdx.x];
    out[threadIdx.x] = OPERATIONS[(threadIdx.x / 4) % 3](x, threadIdx.x);
}

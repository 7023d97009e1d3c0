// Functions that are called: structures by value, recursion.
struct Pair { int a; double b; char c[3]; };

__device__ __noinline__ Pair mixed(Pair p, int x) {
    p.a += x, p.b *= x, p.c[x % 3] = (char)x;
    return p;
}

__device__ __noinline__ int power(int x, unsigned e) { return e == 0 ? 1 : e & 1 ? x * power(x, e - 1) : power(x * x, e / 2); }

extern "C" __global__ void calls(const int *in, int *out, double *wide) {
    Pair p = {in[threadIdx.x], 0.5, {1, 2, 3}};
    for (int i = 1; i < 4; ++i) p = mixed(p, i + (int)threadIdx.x % 5);
    out[threadIdx.x] = p.a + p.c[0] * 3 + p.c[1] * 5 + p.c[2] * 7;
    wide[threadIdx.x] = p.b;
}

extern "C" __global__ void recursion(const int *in, int *out) { out[threadIdx.x] = power(in[threadIdx.x] & 7, threadIdx.x % 9); }

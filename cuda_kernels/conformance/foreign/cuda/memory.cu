// All kinds of memory: local arrays, constants, generic addresses, widths; printf.
#include <stdio.h>

extern "C" __global__ void local_array(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, held[16];
#pragma unroll 1
    for (int j = 0; j < 16; ++j) held[j] = in[(i * 16 + j) % n];
#pragma unroll 1
    for (int j = 0; j < 15; ++j)                          // insertion sort, indices that the compiler cannot know
#pragma unroll 1
        for (int k = j; k >= 0 && held[k] > held[k + 1]; --k) {
            int x = held[k];
            held[k] = held[k + 1], held[k + 1] = x;
        }
    out[i] = held[i % 16] * 10000 + held[in[i % n] & 15];
}

__constant__ float WEIGHTS[25] = {1, 4, 6, 4, 1, 4, 16, 24, 16, 4, 6, 24, 36, 24, 6, 4, 16, 24, 16, 4, 1, 4, 6, 4, 1};
__constant__ unsigned char TABLE[16] = {7, 3, 15, 0, 9, 12, 1, 14, 2, 8, 5, 11, 4, 13, 6, 10};

extern "C" __global__ void convolution(const float *in, float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
#pragma unroll 1
    for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i) {
            int u = x + i - 2, v = y + j - 2;
            if (u >= 0 && u < width && v >= 0 && v < height) sum += WEIGHTS[j * 5 + i] * in[v * width + u];
        }
    out[y * width + x] = sum * (1.0f / 256);
}

extern "C" __global__ void substitution(const unsigned *in, unsigned *out, int rounds) {
    unsigned x = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int r = 0; r < rounds; ++r) {
        unsigned y = 0;
        for (int i = 0; i < 32; i += 4) y |= (unsigned)TABLE[x >> i & 15] << i;
        x = (y << 7 | y >> 25) + r;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__device__ __noinline__ int add_up(const int *p, int n) {   // the space is known only when it runs
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += p[i];
    return sum;
}

__device__ int TOTALS[64];

extern "C" __global__ void generic(const int *in, int *out) {
    __shared__ int s[64];
    int held[4], t = threadIdx.x;
    s[t] = in[t];
    for (int i = 0; i < 4; ++i) held[i] = in[(t + i) % 64] * (i + t % 3);
    TOTALS[t] = in[t] + 1;
    __syncthreads();
    const int *p = t % 4 == 0 ? s : t % 4 == 1 ? held : t % 4 == 2 ? in : TOTALS + t;
    out[t] = add_up(p, t % 4 == 3 ? 1 : 4) + TOTALS[t];
}

extern "C" __global__ void printing(const int *in) {
    int x = in[threadIdx.x];
    if (x > 90) printf("thread %d of %d: %d %5.2f %s %c %llx\n", (int)threadIdx.x, (int)blockDim.x, x, x * 0.25, x & 1 ? "odd" : "even", 'a' + x % 26, (long long)x << 33);
}

extern "C" __global__ void string_search(const char *text, int length, const char *word, int size, int *first, int *count) {
    extern __shared__ char held[];                        // the word and, behind it, a piece of the text
    char *piece = held + 16;
    int t = threadIdx.x, at = blockIdx.x * blockDim.x;
    if (t < size) held[t] = word[t];
    for (int i = t; i < blockDim.x + 16; i += blockDim.x) piece[i] = at + i < length ? text[at + i] : 0;
    __syncthreads();
    if (at + t + size > length) return;
    for (int i = 0; i < size; ++i)
        if (piece[t + i] != held[i]) return;
    atomicMin(first, at + t);
    atomicAdd(count, 1);
}

extern "C" __global__ void widths(const unsigned char *in, unsigned char *out) {
    __shared__ __align__(16) unsigned char s[1024];
    int t = threadIdx.x;                                  // 64 threads: bytes, 16, 32, 64 and 128 bits in and out
    reinterpret_cast<uint4 *>(s)[t] = reinterpret_cast<const uint4 *>(in)[t];
    __syncthreads();
    unsigned char a = s[(t * 37) % 1024];
    unsigned short b = reinterpret_cast<unsigned short *>(s)[(t * 5 + 3) % 512];
    int2 c = reinterpret_cast<int2 *>(s)[(t * 3 + 1) % 128];
    int4 d = reinterpret_cast<int4 *>(s)[t ^ 9];
    signed char e = reinterpret_cast<signed char *>(s)[t * 16 + 5];
    __syncthreads();
    reinterpret_cast<unsigned short *>(s)[t] = b + a;
    reinterpret_cast<int2 *>(s + 128)[t] = make_int2(c.x + e, c.y);
    s[640 + t] = a ^ (unsigned char)e;
    reinterpret_cast<int *>(s + 704)[t] = d.x ^ d.y ^ d.z ^ d.w;
    if (t < 16) reinterpret_cast<int *>(s + 960)[t] = t;
    __syncthreads();
    reinterpret_cast<uint4 *>(out)[t] = reinterpret_cast<uint4 *>(s)[t];
}

extern "C" __global__ void game_of_life(const unsigned *in, unsigned *out, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;      // 32 cells of a row in a word, on a torus
    unsigned a = in[(row + rows - 1) % rows], b = in[row], c = in[(row + 1) % rows], next = 0;
    for (int i = 0; i < 32; ++i) {
        int l = (i + 31) % 32, r = (i + 1) % 32;
        int n = (a >> l & 1) + (a >> i & 1) + (a >> r & 1) + (b >> l & 1) + (b >> r & 1) + (c >> l & 1) + (c >> i & 1) + (c >> r & 1);
        next |= (unsigned)(n == 3 || (n == 2 && (b >> i & 1))) << i;
    }
    out[row] = next;
}

// Histograms of bytes with atomics of shared and of global memory, also 16-bit compare-and-swap.
extern "C" __global__ void histogram_shared(const unsigned char *in, unsigned *out, int n) {
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&bins[in[i]], 1u);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void histogram_global(const unsigned char *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[in[i] >> 4], 1u);
}

extern "C" __global__ void histogram_per_warp(const unsigned *in, unsigned *out, int n) {
    __shared__ unsigned bins[4][16];                      // one of each warp, equal keys of a warp counted once
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane < 16) bins[warp][lane] = 0;
    __syncwarp();
    for (int i = threadIdx.x; i < n; i += 128) {
        unsigned key = in[i] % 16, peers = __match_any_sync(__activemask(), key);
        if (lane == __ffs(peers) - 1) bins[warp][key] += __popc(peers);
        __syncwarp();
    }
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = bins[0][threadIdx.x] + bins[1][threadIdx.x] + bins[2][threadIdx.x] + bins[3][threadIdx.x];
}

extern "C" __global__ void atomic_kinds(const int *in, int *out, float *sums, double *wide, unsigned short *halves) {
    __shared__ int s[8];
    __shared__ float f;
    int t = threadIdx.x, x = in[t];
    if (t < 8) s[t] = t == 1 ? 0x7fffffff : t == 3 ? -1 : 0;
    if (t == 0) f = 0;
    __syncthreads();
    atomicAdd(&s[0], x);
    atomicMin(&s[1], x);
    atomicMax(&s[2], x);
    atomicAnd(&s[3], x | 0xff);
    atomicOr(&s[4], x & 0xf0f);
    atomicXor(&s[5], x);
    atomicInc(reinterpret_cast<unsigned *>(&s[6]), 40u);
    if (atomicCAS(&s[7], 0, 77) == 0) atomicExch(&s[7], 78);
    atomicAdd(&f, (float)(x % 16));                       // whole numbers: every order gives the same sum
    atomicAdd(sums, (float)(x % 8));
    atomicAdd(wide, (double)x);
    unsigned short *place = halves + t % 4, old = 0, seen;   // a guess; the first exchange tells
    do seen = old, old = atomicCAS(place, seen, (unsigned short)(seen + t)); while (old != seen);
    __syncthreads();
    if (t < 8) out[t] = s[t];
    if (t == 0) sums[1] = f;
}

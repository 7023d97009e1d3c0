// Sums, maxima and dot products: shared tree, shuffles, atomics, the last block, redux, 64-bit atomics.
extern "C" __global__ void reduce_tree(const int *in, int *out, int n) {
    extern __shared__ int part[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? in[i] : 0;
    for (int step = blockDim.x / 2; step; step /= 2) {
        __syncthreads();
        if (t < step) part[t] += part[t + step];
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void reduce_interleaved(const int *in, int *out, int n) {
    __shared__ int part[256];                             // the stride between threads that add doubles: bank conflicts
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        int at = 2 * step * t;
        if (at < 256) part[at] += part[at + step];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

__device__ __forceinline__ float warp_sum(float x) {
    for (int d = 16; d; d /= 2) x += __shfl_down_sync(~0u, x, d);
    return x;
}

extern "C" __global__ void reduce_shuffle(const float *in, float *out, int n) {
    __shared__ float part[8];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = warp_sum(threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0);
        if (threadIdx.x == 0) out[blockIdx.x] = sum;
    }
}

extern "C" __global__ void reduce_atomic(const int *in, int *sum, int *low, unsigned *high, unsigned long long *squares, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(sum, in[i]);
    atomicMin(low, in[i]);
    atomicMax(high, (unsigned)in[i] & 0xffffu);
    atomicAdd(squares, (unsigned long long)((long long)in[i] * in[i]));
}

extern "C" __global__ void reduce_last_block(const int *in, int *part, int *out, unsigned *count, int n) {
    __shared__ int sums[4];
    __shared__ bool last;
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    sum = __reduce_add_sync(~0u, sum);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        part[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
        __threadfence();
        last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x < 32) {
        int x = threadIdx.x < gridDim.x ? reinterpret_cast<volatile int *>(part)[threadIdx.x] : 0;
        x = __reduce_add_sync(~0u, x);
        if (threadIdx.x == 0) *out = x;
    }
}

extern "C" __global__ void dot_double(const double *a, const double *b, double *out, int n) {
    __shared__ double part[128];
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += 128) sum = fma(a[i], b[i], sum);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 64; step; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = part[0];
}

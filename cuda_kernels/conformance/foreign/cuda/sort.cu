// Sorting 512 keys in shared memory: bitonic, odd-even transposition; ranks by counting.
extern "C" __global__ void sort_bitonic(unsigned *keys) {
    __shared__ unsigned s[512];
    int t = threadIdx.x;
    s[t] = keys[blockIdx.x * 512 + t], s[t + 256] = keys[blockIdx.x * 512 + t + 256];
    for (int size = 2; size <= 512; size *= 2)
        for (int d = size / 2; d; d /= 2) {
            __syncthreads();
            int at = 2 * t - (t & (d - 1));
            unsigned a = s[at], b = s[at + d];
            if ((a > b) == ((at & size) == 0)) s[at] = b, s[at + d] = a;
        }
    __syncthreads();
    keys[blockIdx.x * 512 + t] = s[t], keys[blockIdx.x * 512 + t + 256] = s[t + 256];
}

extern "C" __global__ void sort_odd_even(float *keys) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = keys[t];
    for (int i = 0; i < 128; ++i) {
        __syncthreads();
        int at = 2 * t + (i & 1);
        if (at + 1 < 128) {
            float a = s[at], b = s[at + 1];
            s[at] = fminf(a, b), s[at + 1] = fmaxf(a, b);
        }
    }
    __syncthreads();
    keys[t] = s[t];
}

extern "C" __global__ void sort_by_rank(const short *keys, short *out, int n) {
    extern __shared__ short held[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) held[i] = keys[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int rank = 0;
        for (int j = 0; j < n; ++j) rank += held[j] < held[i] || (held[j] == held[i] && j < i);
        out[rank] = held[i];
    }
}

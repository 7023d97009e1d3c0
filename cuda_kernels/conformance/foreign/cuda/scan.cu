// Prefix sums: Hillis-Steele, Blelloch, by shuffles; compaction by ballots; reversal of segments.
extern "C" __global__ void scan_hillis(const int *in, int *out) {
    __shared__ int part[2][256];
    int t = threadIdx.x, at = 0;
    part[0][t] = in[blockIdx.x * 256 + t];
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        part[1 - at][t] = part[at][t] + (t >= d ? part[at][t - d] : 0);
        at = 1 - at;
    }
    __syncthreads();
    out[blockIdx.x * 256 + t] = part[at][t];
}

extern "C" __global__ void scan_blelloch(const int *in, int *out) {
    extern __shared__ int part[];
    int t = threadIdx.x, n = 2 * blockDim.x, offset = 1;
    part[2 * t] = in[2 * t], part[2 * t + 1] = in[2 * t + 1];
    for (int d = n / 2; d; d /= 2) {
        __syncthreads();
        if (t < d) part[offset * (2 * t + 2) - 1] += part[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) part[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            int low = offset * (2 * t + 1) - 1, high = offset * (2 * t + 2) - 1, x = part[low];
            part[low] = part[high];
            part[high] += x;
        }
    }
    __syncthreads();
    out[2 * t] = part[2 * t], out[2 * t + 1] = part[2 * t + 1];
}

extern "C" __global__ void scan_shuffle(const long long *in, long long *out) {
    __shared__ long long sums[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long long x = in[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        long long y = __shfl_up_sync(~0u, x, d);
        if (lane >= d) x += y;
    }
    if (lane == 31) sums[warp] = x;
    __syncthreads();
    if (warp == 0) {
        long long s = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            long long y = __shfl_up_sync(~0u, s, d);
            if (lane >= d) s += y;
        }
        sums[lane] = s;
    }
    __syncthreads();
    out[threadIdx.x] = x + (warp ? sums[warp - 1] : 0);
}

extern "C" __global__ void compact(const int *in, int *out, int *count, int n) {
    __shared__ int first[8], total;                      // the values above 0, in their order; one block
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) total = 0;
    for (int base = 0; base < n; base += 256) {
        int i = base + threadIdx.x, x = i < n ? in[i] : 0;
        unsigned kept = __ballot_sync(~0u, x > 0);
        if (lane == 0) first[warp] = __popc(kept);
        __syncthreads();
        int before = total, all = 0;
        for (int w = 0; w < 8; ++w) {
            if (w < warp) before += first[w];
            all += first[w];
        }
        if (x > 0) out[before + __popc(kept & ((1u << lane) - 1))] = x;
        __syncthreads();
        if (threadIdx.x == 0) total += all;
        __syncthreads();
    }
    if (threadIdx.x == 0) *count = total;
}

// Products of f32 matrices without tensor cores: C = A B, all row-major.
extern "C" __global__ void sgemm_tiled(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float as[16][16], bs[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int at = 0; at < k; at += 16) {
        as[threadIdx.y][threadIdx.x] = row < m && at + threadIdx.x < k ? a[row * k + at + threadIdx.x] : 0;
        bs[threadIdx.y][threadIdx.x] = col < n && at + threadIdx.y < k ? b[(at + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}

// 64x64 of C by 256 threads, 4x4 each, float4 loads, two buffers: the next chunk of 8 is in registers while one is multiplied.
extern "C" __global__ void __launch_bounds__(256) sgemm_float4(const float *a, const float *b, float *c, int n, int k) {
    __shared__ float as[2][8][64], bs[2][8][64];
    int t = threadIdx.x, tx = t % 16, ty = t / 16, half = t / 128, u = t % 128;
    const float *from = half ? b + (u / 16) * n + blockIdx.x * 64 + u % 16 * 4 : a + (blockIdx.y * 64 + u / 2) * k + u % 2 * 4;
    int step = half ? 8 * n : 8, buffer = 0;
    float sum[4][4] = {};
    float4 next = *reinterpret_cast<const float4 *>(from);
    for (int at = 0; at < k; at += 8, buffer ^= 1) {
        if (half) *reinterpret_cast<float4 *>(&bs[buffer][u / 16][u % 16 * 4]) = next;
        else
            for (int i = 0; i < 4; ++i) as[buffer][u % 2 * 4 + i][u / 2] = (&next.x)[i];
        __syncthreads();
        if (at + 8 < k) next = *reinterpret_cast<const float4 *>(from += step);
        for (int i = 0; i < 8; ++i) {
            float4 x = *reinterpret_cast<float4 *>(&as[buffer][i][ty * 4]), y = *reinterpret_cast<float4 *>(&bs[buffer][i][tx * 4]);
            for (int p = 0; p < 4; ++p)
                for (int q = 0; q < 4; ++q) sum[p][q] += (&x.x)[p] * (&y.x)[q];
        }
    }
    for (int p = 0; p < 4; ++p)
        *reinterpret_cast<float4 *>(&c[(blockIdx.y * 64 + ty * 4 + p) * n + blockIdx.x * 64 + tx * 4]) =
            make_float4(sum[p][0], sum[p][1], sum[p][2], sum[p][3]);
}

// C of doubles, tiles of 8 by 8, with a dynamic and a static array in shared memory.
extern "C" __global__ void dgemm_tiled(const double *a, const double *b, double *c, int n) {
    extern __shared__ double as[];
    __shared__ double bs[8][9];
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
    double sum = 0;
    for (int at = 0; at < n; at += 8) {
        as[threadIdx.y * 8 + threadIdx.x] = a[row * n + at + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * n + col];
        __syncthreads();
        for (int i = 0; i < 8; ++i) sum += as[threadIdx.y * 8 + i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

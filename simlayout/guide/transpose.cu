extern "C" __global__ void transpose(const float* a, float* c, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        tile[threadIdx.y + i][threadIdx.x] = a[(y + i) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        c[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}

// Transposes of f32 matrices, 32x32 tiles, blocks of 32x8: with conflicts, padded, and swizzled.
extern "C" __global__ void transpose_naive(const float *in, float *out, int rows, int columns) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * columns + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) out[(y + i) * rows + x] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void transpose_padded(const float *in, float *out, int rows, int columns) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (x < columns && y + i < rows) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * columns + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (x < rows && y + i < columns) out[(y + i) * rows + x] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void transpose_swizzled(const float4 *in, float *out, int rows, int columns) {
    __shared__ float4 tile[32][8];                       // 16-byte chunks, exchanged within a row by the row's number
    int t = threadIdx.x, row = t / 8, chunk = t % 8;      // 256 threads: one chunk each
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    tile[row][chunk ^ (row / 4 % 8)] = in[((y + row) * columns + x) / 4 + chunk];
    __syncthreads();
    for (int i = 0; i < 4; ++i) {
        int to = t / 32 + 8 * i, from = t % 32;           // column `to` of the tile, row `from`
        const float *line = reinterpret_cast<const float *>(&tile[from][(to / 4) ^ (from / 4 % 8)]);
        out[(x + to) * rows + y + from] = line[to % 4];
    }
}

// Stencils in one, two and three dimensions, with a halo in shared memory.
extern "C" __global__ void stencil_1d(const int *in, int *out, int n) {
    __shared__ int tile[256 + 8];
    int i = blockIdx.x * 256 + threadIdx.x, at = threadIdx.x + 4;
    tile[at] = i < n ? in[i] : 0;
    if (threadIdx.x < 4) {
        tile[threadIdx.x] = i >= 4 ? in[i - 4] : 0;
        tile[at + 256] = i + 256 < n ? in[i + 256] : 0;
    }
    __syncthreads();
    int sum = 0;
    for (int d = -4; d <= 4; ++d) sum += tile[at + d];
    if (i < n) out[i] = sum;
}

extern "C" __global__ void stencil_2d(const float *in, float *out, int rows, int columns) {
    __shared__ float tile[18][34];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (int j = threadIdx.y; j < 18; j += 16)
        for (int i = threadIdx.x; i < 34; i += 32) {
            int u = min(max((int)(blockIdx.x * 32) + i - 1, 0), columns - 1), v = min(max((int)(blockIdx.y * 16) + j - 1, 0), rows - 1);
            tile[j][i] = in[v * columns + u];
        }
    __syncthreads();
    int i = threadIdx.x + 1, j = threadIdx.y + 1;
    if (x < columns && y < rows)
        out[y * columns + x] = 0.5f * tile[j][i] + 0.125f * (tile[j - 1][i] + tile[j + 1][i] + tile[j][i - 1] + tile[j][i + 1]);
}

extern "C" __global__ void stencil_3d(const float *in, float *out, int n) {
    __shared__ float plane[10][10];                       // planes along z pass by; the neighbours in z are in registers
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, line = y * n + x, area = n * n;
    float below = 0, here = in[line], above;
    for (int z = 0; z < n; ++z) {
        above = z + 1 < n ? in[(z + 1) * area + line] : 0;
        __syncthreads();
        plane[threadIdx.y + 1][threadIdx.x + 1] = here;
        if (threadIdx.x == 0) plane[threadIdx.y + 1][0] = x ? in[z * area + line - 1] : 0;
        if (threadIdx.x == 7) plane[threadIdx.y + 1][9] = x + 1 < n ? in[z * area + line + 1] : 0;
        if (threadIdx.y == 0) plane[0][threadIdx.x + 1] = y ? in[z * area + line - n] : 0;
        if (threadIdx.y == 7) plane[9][threadIdx.x + 1] = y + 1 < n ? in[z * area + line + n] : 0;
        __syncthreads();
        int i = threadIdx.x + 1, j = threadIdx.y + 1;
        out[z * area + line] = plane[j][i - 1] + plane[j][i + 1] + plane[j - 1][i] + plane[j + 1][i] + below + above - 6 * here;
        below = here, here = above;
    }
}

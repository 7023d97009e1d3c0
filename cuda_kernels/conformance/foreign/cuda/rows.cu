// Work on rows: softmax, layer norm, matrix times vector, sparse matrix times vector, argmax.
#include <math_constants.h>

__device__ float across(float x, bool largest, float *part) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int d = 16; d; d /= 2) {
        float y = __shfl_xor_sync(~0u, x, d);
        x = largest ? fmaxf(x, y) : x + y;
    }
    __syncthreads();
    if (lane == 0) part[warp] = x;
    __syncthreads();
    x = part[0];
    for (int w = 1; w < blockDim.x / 32; ++w) x = largest ? fmaxf(x, part[w]) : x + part[w];
    return x;
}

extern "C" __global__ void softmax(const float *in, float *out, int columns) {
    __shared__ float part[32];
    in += blockIdx.x * columns, out += blockIdx.x * columns;
    float top = -CUDART_INF_F, sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) top = fmaxf(top, in[i]);
    top = across(top, true, part);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(in[i] - top);
    sum = across(sum, false, part);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = expf(in[i] - top) / sum;
}

extern "C" __global__ void layer_norm(const float4 *in, const float4 *scale, const float4 *shift, float4 *out, int columns) {
    __shared__ float part[32];
    int i = threadIdx.x, at = blockIdx.x * columns / 4 + i;  // one float4 of each thread
    float4 x = in[at];
    float mean = across(x.x + x.y + x.z + x.w, false, part) / columns;
    x.x -= mean, x.y -= mean, x.z -= mean, x.w -= mean;
    float spread = across(x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w, false, part) / columns, r = rsqrtf(spread + 1e-5f);
    float4 g = scale[i], b = shift[i];
    out[at] = make_float4(x.x * r * g.x + b.x, x.y * r * g.y + b.y, x.z * r * g.z + b.z, x.w * r * g.w + b.w);
}

extern "C" __global__ void matrix_vector(const float *a, const float *x, float *y, int columns) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int j = lane; j < columns; j += 32) sum += a[row * columns + j] * x[j];
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void sparse_vector(const int *first, const int *column, const float *value, const float *x, float *y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;        // rows of different lengths: lanes leave the loop apart
    if (row >= rows) return;
    float sum = 0;
    for (int k = first[row]; k < first[row + 1]; ++k) sum = fmaf(value[k], x[column[k]], sum);
    y[row] = sum;
}

extern "C" __global__ void argmax(const float *in, int *where, int columns) {
    __shared__ float best[128];
    __shared__ int at[128];
    int t = threadIdx.x, found = 0;
    float top = -CUDART_INF_F;
    for (int i = t; i < columns; i += 128)
        if (in[blockIdx.x * columns + i] > top) top = in[blockIdx.x * columns + i], found = i;
    best[t] = top, at[t] = found;
    for (int step = 64; step; step /= 2) {
        __syncthreads();
        if (t < step && (best[t + step] > best[t] || (best[t + step] == best[t] && at[t + step] < at[t])))
            best[t] = best[t + step], at[t] = at[t + step];
    }
    if (t == 0) where[blockIdx.x] = at[0];
}

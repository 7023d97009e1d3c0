// What people write: structures and parts of vectors in shared memory, pairs of halves, tables, recurrences.
#include <cuda_fp16.h>
#include <stdint.h>

struct Body { float x, y, z; };
struct Node { int key; short left, right; double weight; };

// Forces between bodies, tile by tile: structures of 12 bytes.
extern "C" __global__ void forces(const Body *bodies, Body *out, int n) {
    __shared__ Body tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    Body mine = bodies[i], sum = {0, 0, 0};
    for (int first = 0; first < n; first += 64) {
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < 64; j++) {
            float dx = tile[j].x - mine.x, dy = tile[j].y - mine.y, dz = tile[j].z - mine.z;
            sum.x += dx * dy, sum.y += dy * dz, sum.z += dz * dx;
        }
        __syncthreads();
    }
    out[i] = sum;
}

// Three of the four parts of a vector, and one of another.
extern "C" __global__ void parts_of_vectors(const float4 *x, float *out) {
    __shared__ float4 tile[128];
    int t = threadIdx.x;
    tile[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    float4 a = tile[(t * 7) % 128], b = tile[t ^ 5], c = tile[127 - t];
    out[blockIdx.x * 128 + t] = a.x * b.y + a.z * c.w + b.w - c.x * a.x + tile[t / 4].z;
}

// Nodes of a heap that differ in size of their members; the smallest keys rise.
extern "C" __global__ void heap_of_nodes(const int *keys, int *out, double *weights) {
    __shared__ Node node[129];
    int t = threadIdx.x + 1;
    node[t] = {keys[t - 1], (short)(2 * t), (short)(2 * t + 1), 0.5 * keys[t - 1]};
    __syncthreads();
    for (int size = 64; size >= 1; size /= 2) {
        if (t >= size && t < 2 * size) {
            int at = t;
            while (true) {
                int least = at, l = node[at].left, r = node[at].right;
                if (l <= 128 && node[l].key < node[least].key) least = l;
                if (r <= 128 && node[r].key < node[least].key) least = r;
                if (least == at) break;
                int key = node[at].key;
                double weight = node[at].weight;
                node[at].key = node[least].key, node[at].weight = node[least].weight;
                node[least].key = key, node[least].weight = weight;
                at = least;
            }
        }
        __syncthreads();
    }
    out[t - 1] = node[t].key;
    weights[t - 1] = node[t].weight + (node[t].key >= node[t / 2 ? t / 2 : 1].key);
}

// A row divided by its root of mean squares: halves in pairs, eight at a time.
extern "C" __global__ void rms_norm(const uint4 *x, uint4 *out, int columns) {
    __shared__ float part[4];
    extern __shared__ uint4 row[];
    float sum = 0;
    for (int i = threadIdx.x; i < columns / 8; i += 128) {
        row[i] = x[blockIdx.x * (columns / 8) + i];
        const __half2 *pairs = reinterpret_cast<const __half2 *>(&row[i]);
        for (int j = 0; j < 4; j++) {
            float2 both = __half22float2(pairs[j]);
            sum += both.x * both.x + both.y * both.y;
        }
    }
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    float scale = 1.0f / sqrtf((part[0] + part[1] + part[2] + part[3]) / columns);
    for (int i = threadIdx.x; i < columns / 8; i += 128) {
        uint4 all = row[i];
        __half2 *pairs = reinterpret_cast<__half2 *>(&all);
        for (int j = 0; j < 4; j++) {
            float2 both = __half22float2(pairs[j]);
            pairs[j] = __floats2half2_rn(both.x * scale, both.y * scale);
        }
        out[blockIdx.x * (columns / 8) + i] = all;
    }
}

// A transform of 256 points by four butterflies of four.
extern "C" __global__ void fourier_256(const float2 *x, float2 *out, const float2 *roots) {
    __shared__ float re[256], im[256];
    int t = threadIdx.x;
    float2 v[4];
    for (int i = 0; i < 4; i++) v[i] = x[blockIdx.x * 256 + t + 64 * i];
    for (int m = 1; m < 256; m *= 4) {
        int k = t % m;
        for (int i = 1; i < 4; i++) {
            float2 w = roots[i * k * (64 / m)], u = v[i];
            v[i] = make_float2(u.x * w.x - u.y * w.y, u.x * w.y + u.y * w.x);
        }
        float2 a = make_float2(v[0].x + v[2].x, v[0].y + v[2].y), b = make_float2(v[0].x - v[2].x, v[0].y - v[2].y);
        float2 c = make_float2(v[1].x + v[3].x, v[1].y + v[3].y), d = make_float2(v[1].y - v[3].y, v[3].x - v[1].x);
        float2 made[4] = {{a.x + c.x, a.y + c.y}, {b.x + d.x, b.y + d.y}, {a.x - c.x, a.y - c.y}, {b.x - d.x, b.y - d.y}};
        int at = (t / m) * 4 * m + k;
        __syncthreads();
        for (int i = 0; i < 4; i++) re[at + i * m] = made[i].x, im[at + i * m] = made[i].y;
        __syncthreads();
        for (int i = 0; i < 4; i++) v[i] = make_float2(re[t + 64 * i], im[t + 64 * i]);
    }
    for (int i = 0; i < 4; i++) out[blockIdx.x * 256 + t + 64 * i] = v[i];
}

// Words counted in a table with open addresses.
extern "C" __global__ void hash_table(const int *words, int *keys, int *counts, int n) {
    __shared__ int key[256], count[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) key[i] = -1, count[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        unsigned at = words[i] * 2654435761u >> 24;
        while (true) {
            int seen = atomicCAS(&key[at], -1, words[i]);
            if (seen == -1 || seen == words[i]) break;
            at = (at + 1) % 256;
        }
        atomicAdd(&count[at], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) keys[i] = key[i], counts[i] = count[i];
}

// Bytes through a table of 256 bytes, and words through four of 256 words, as ciphers do it.
extern "C" __global__ void tables(const uint32_t *x, const uint8_t *box, const uint32_t *wide, uint32_t *out) {
    __shared__ uint8_t small[256];
    __shared__ uint32_t large[4][256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        small[i] = box[i];
        for (int j = 0; j < 4; j++) large[j][i] = __funnelshift_l(wide[i], wide[i], 8 * j);
    }
    __syncthreads();
    uint32_t v = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int round = 0; round < 3; round++)
        v = large[0][v & 255] ^ large[1][v >> 8 & 255] ^ large[2][v >> 16 & 255] ^ large[3][v >> 24];
    out[blockIdx.x * blockDim.x + threadIdx.x] = small[v & 255] | small[v >> 8 & 255] << 8 | small[v >> 16 & 255] << 16 |
                                                 (uint32_t)small[v >> 24] << 24;
}

// The longest common subsequence of two words, along the diagonals.
extern "C" __global__ void subsequence(const char *a, const char *b, int *out) {
    __shared__ short table[3][130];
    __shared__ char left[128], above[128];
    int t = threadIdx.x;
    left[t] = a[blockIdx.x * 128 + t], above[t] = b[blockIdx.x * 128 + t];
    for (int i = 0; i < 3; i++) table[i][t] = 0;
    __syncthreads();
    for (int d = 0; d < 255; d++) {                      // diagonal d, row t: column d - t
        int column = d - t;
        if (column >= 0 && column < 128) {
            short corner = t && column ? table[(d + 1) % 3][t - 1] : 0, up = t ? table[(d + 2) % 3][t - 1] : 0;
            short back = column ? table[(d + 2) % 3][t] : 0;
            table[d % 3][t] = left[t] == above[column] ? corner + 1 : up > back ? up : back;
        }
        __syncthreads();
    }
    if (t == 127) out[blockIdx.x] = table[254 % 3][127];
}

// A matrix times a vector, by rows of a sparse one: a warp per row, vectors of a shared cache.
extern "C" __global__ void sparse_rows(const int *starts, const int *columns, const float *values, const float *x, float *y,
                                       int rows, int n) {
    extern __shared__ float cache[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) cache[i] = x[i];
    __syncthreads();
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    float sum = 0;
    for (int i = starts[row] + threadIdx.x % 32; i < starts[row + 1]; i += 32) sum += values[i] * cache[columns[i]];
    for (int step = 16; step; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0) y[row] = sum;
}

// A system of 32 equations by elimination, in place.
extern "C" __global__ void eliminate(const float *a, float *out) {
    __shared__ float m[32][33];
    __shared__ int pivot;
    int i = threadIdx.y, j = threadIdx.x;
    m[i][j] = a[i * 32 + j];
    __syncthreads();
    for (int k = 0; k < 32; k++) {
        if (i == 0) {
            float best = j >= k ? fabsf(m[j][k]) : -1;
            int at = j;
            for (int step = 16; step; step /= 2) {
                float other = __shfl_xor_sync(~0u, best, step);
                int there = __shfl_xor_sync(~0u, at, step);
                if (other > best || (other == best && there < at)) best = other, at = there;
            }
            if (j == 0) pivot = at;
        }
        __syncthreads();
        int p = pivot;
        if (i == 0 && p != k) {
            float kept = m[k][j];
            m[k][j] = m[p][j], m[p][j] = kept;
        }
        __syncthreads();
        float factor = i > k ? m[i][k] / m[k][k] : 0;
        __syncthreads();
        if (i > k && j > k) m[i][j] -= factor * m[k][j];
        if (i > k && j == k) m[i][j] = factor;
        __syncthreads();
    }
    out[i * 32 + j] = m[i][j];
}

// Numbers by their digit of four bits, with votes in place of atomics.
extern "C" __global__ void digits_by_votes(const uint32_t *x, uint32_t *out, int *starts, int shift) {
    __shared__ int count[4][16], first[16];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    uint32_t v = x[t];
    int digit = v >> shift & 15;
    unsigned alike = ~0u;
    for (int bit = 0; bit < 4; bit++) {
        unsigned set = __ballot_sync(~0u, digit >> bit & 1);
        alike &= digit >> bit & 1 ? set : ~set;
    }
    int before = __popc(alike & ((1u << lane) - 1));
    if (lane < 16) count[warp][lane] = 0;
    __syncwarp();
    if (before == 0) count[warp][digit] = __popc(alike);
    __syncthreads();
    if (t < 16) {
        int sum = 0;
        for (int w = 0; w < 4; w++) {
            int here = count[w][t];
            count[w][t] = sum, sum += here;
        }
        int all = sum;
        for (int step = 1; step < 16; step *= 2) {
            int other = __shfl_up_sync(0xffff, all, step);
            if (t >= step) all += other;
        }
        first[t] = all - sum;
        starts[t] = all - sum;
    }
    __syncthreads();
    out[first[digit] + count[warp][digit] + before] = v;
}

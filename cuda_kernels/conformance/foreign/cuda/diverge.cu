// Lanes that go different ways: loops of different length, early returns, switches, locks between lanes of a warp.
extern "C" __global__ void collatz(const unsigned *in, unsigned *steps, unsigned long long *peak, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long x = in[i], top = x;
    unsigned count = 0;
    while (x != 1) {
        if (x & 1) x = 3 * x + 1;
        else x >>= 1;
        if (x > top) top = x;
        ++count;
    }
    steps[i] = count, peak[i] = top;
}

extern "C" __global__ void mandelbrot(unsigned char *out, int width, int height, int limit) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    double cx = -2.0 + 3.0 * px / width, cy = -1.0 + 2.0 * py / height, x = 0, y = 0;
    int i = 0;
    for (; i < limit && __dadd_rn(__dmul_rn(x, x), __dmul_rn(y, y)) <= 4.0; ++i) {
        double t = __dadd_rn(__dsub_rn(__dmul_rn(x, x), __dmul_rn(y, y)), cx);
        y = __dadd_rn(__dmul_rn(__dmul_rn(2.0, x), y), cy), x = t;
    }
    out[py * width + px] = (unsigned char)i;
}

extern "C" __global__ void early_return(const int *in, int *out, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    s[t] = i < n ? in[i] : -1;
    __syncthreads();
    if (s[t] < 0) return;                                 // whole warps and single lanes leave; the others go on
    int x = s[t], count = 0;
    for (int j = 0; j < 128; ++j) {
        if (s[j] == -2) break;
        if (s[j] < 0) continue;
        count += s[j] > x;
    }
    if (count > 100) return;
    out[i] = count;
}

extern "C" __global__ void many_cases(const int *op, const int *a, const int *b, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i], y = b[i], r;
    switch (op[i]) {                                      // a table of branches
        case 0: r = x + y; break;
        case 1: r = x - y; break;
        case 2: r = x * y; break;
        case 3: r = y ? x / y : 0; break;
        case 4: r = y ? x % y : 0; break;
        case 5: r = x << (y & 31); break;
        case 6: r = x >> (y & 31); break;
        case 7: r = __popc(x ^ y); break;
        case 8: r = __clz(x) + __brev(y); break;
        case 9: r = max(x, y); break;
        case 10: for (r = 0; x > 0; x -= 3) r += y; break;
        case 11: r = __vadd4(x, y); break;
        case 12: r = abs(x) | abs(y); break;
        default: r = -1;
    }
    out[i] = r;
}

extern "C" __global__ void branch_table(const int *op, const int *a, int *out) {
    int x = a[threadIdx.x], r = 0;
    asm volatile("{\n\t.reg .u32 t;\nCASES: .branchtargets ZERO, ONE, TWO, ONE, THREE;\n\tbrx.idx %1, CASES;\n"
                 "ZERO:\n\tmov.u32 %0, %2;\n\tbra.uni DONE;\nONE:\n\tadd.u32 %0, %2, 100;\n\tbra.uni DONE;\n"
                 "TWO:\n\tmul.lo.u32 t, %2, %2;\n\txor.b32 %0, t, 5;\nTHREE:\n\tadd.u32 %0, %0, 7;\nDONE:\n\t}"
                 : "+r"(r) : "r"(op[threadIdx.x]), "r"(x));   // case TWO falls into THREE
    out[threadIdx.x] = r;
}

extern "C" __global__ void spin_lock(int *lock, int *sum, int *order) {
    __shared__ int held, total;
    if (threadIdx.x == 0) held = 0, total = 0;
    __syncthreads();
    while (atomicCAS(&held, 0, 1) != 0) {}                // lanes of one warp want the same lock
    __threadfence_block();
    total = *(volatile int *)&total + (int)threadIdx.x;
    __threadfence_block();
    atomicExch(&held, 0);
    __syncthreads();
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);   // and CTAs
        __threadfence();
        *(volatile int *)sum = *(volatile int *)sum + total;
        *(volatile int *)order = *(volatile int *)order + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

extern "C" __global__ void lanes_in_turn(int *out) {
    __shared__ volatile int turn;                         // every lane waits for the lane below: needs independent lanes
    if (threadIdx.x == 0) turn = 0;
    __syncwarp();
    int seen;
    while ((seen = atomicAdd((int *)&turn, 0)) != (int)threadIdx.x) {}
    out[threadIdx.x] = seen * seen;
    __threadfence_block();
    atomicAdd((int *)&turn, 1);
}

extern "C" __global__ void nested_branches(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = in[i], r = 0;
    for (int a = 0; a < (x & 7); ++a) {
        if (a & 1) {
            for (int b = x & 15; b > 0; b -= a) {
                if (b == 5) { r += 100; break; }
                r += b;
            }
        } else {
            int c = x >> 3;
            do {
                r ^= c;
                if (r & 64) goto next;
                c >>= 1;
            } while (c);
        }
    next:
        r += a;
    }
    out[i] = r;
}

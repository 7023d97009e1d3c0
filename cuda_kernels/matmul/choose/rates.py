"""The rates that estimates are computed from, those of an H200, and what becomes of them on another GPU."""

from dataclasses import dataclass, replace

from cuda_kernels.matmul.choose.figures import H200, Figures


@dataclass(frozen=True)
class Rates:
    """Rates of one GPU. A name ends in what a rate is: _us microseconds; _clocks, of the clock `clock_ghz`; _per_ns of a
    nanosecond; _factor what a time is multiplied by; _share a part of another rate; norm_ the power of a norm.

    clock_ghz: the clock in which numbers of clocks are counted. The GPU's own moves between 1.2 and 1.98 GHz with the power
    that it draws.

    A launch. launch_us; cluster_launch_us: added for clusters; start_skew_us: until all SMs have begun, if all have work.

    A step of 64 along K. wgmma_column_clocks: per column of a wgmma m64nNk16; many_consumers_factor: for more than two
    consumers; least_step_clocks: of a step, times pair_step_factor for two or more consumers; load_latency_us: which only
    the stages ahead hide; tma_row_clocks: of TMA per row; outside_row_share: the cost of a row outside of the matrix, in
    rows inside it; outside_rows_per_ns: how many such rows all CTAs together can request; delivered_bytes_per_ns: that all
    SMs receive; l2_bytes_per_ns: that L2 serves, where a row for several CTAs of a cluster counts once.
    cluster_step_factor_2, _4, _8: of a step in clusters of so many CTAs.

    L2 serves CTAs near one another together if they request the same row at about the same time. merged_in_tpc,
    merged_in_gpc, merged_clusters: the part of such rows for which it does (1: all), for the two SMs of a TPC, the others of
    a GPC, and clusters of a GPC. drift_power: after model.DRIFT_STEPS steps that part falls with this power of the steps,
    because the CTAs drift apart.

    Rows that start on odd multiples of 64, 32 or 16 bytes cross L2's lines of 128 bytes. tma_factor_64, _32, _16: of TMA's
    time; l2_factor_64 ...: of what L2 serves; merged_factor_64 ...: of the three parts that are merged.

    A tile. tile_us; tile_area_us: per 128 x 256 elements; store_box_us: per box of C; second_cta_share: the part of these
    that a second CTA of the SM adds. Adding up the parts of a cut tile: through global memory reduce_us, and reduce_round_us
    per round of loads; in a cluster exchange_area_us per 128 x 256 elements.

    dram_bytes_per_ns; power_tflops: TFLOP/s that the GPU's power allows where CTAs request model.LEAN rows per element of C;
    row_power_share: how much less it is per row more. norm_in_step, norm_with_l2, norm_with_dram, norm_with_power: the power
    of the norm that combines times that overlap (1: their sum, large: their maximum): within a step of a CTA; of that and
    L2; of that and DRAM where DRAM takes model.LONG (norm_with_dram_growth: the power of DRAM's time with which that grows);
    of all that and the GPU's power.
    """

    clock_ghz: float
    launch_us: float
    cluster_launch_us: float
    start_skew_us: float
    wgmma_column_clocks: float
    many_consumers_factor: float
    least_step_clocks: float
    pair_step_factor: float
    load_latency_us: float
    tma_row_clocks: float
    outside_row_share: float
    outside_rows_per_ns: float
    delivered_bytes_per_ns: float
    l2_bytes_per_ns: float
    merged_in_tpc: float
    merged_in_gpc: float
    merged_clusters: float
    cluster_step_factor_2: float
    cluster_step_factor_4: float
    cluster_step_factor_8: float
    tma_factor_64: float
    tma_factor_32: float
    tma_factor_16: float
    l2_factor_64: float
    l2_factor_32: float
    l2_factor_16: float
    merged_factor_64: float
    merged_factor_32: float
    merged_factor_16: float
    drift_power: float
    tile_us: float
    tile_area_us: float
    store_box_us: float
    second_cta_share: float
    reduce_us: float
    reduce_round_us: float
    exchange_area_us: float
    dram_bytes_per_ns: float
    power_tflops: float
    row_power_share: float
    norm_in_step: float
    norm_with_l2: float
    norm_with_dram: float
    norm_with_dram_growth: float
    norm_with_power: float

    def on(self, gpu: Figures) -> "Rates":
        """Those of an H200, as they are on another GPU: clocks go with its clock; what all SMs receive and what power
        allows also with its SMs; DRAM with its bandwidth, and L2 with the width of DRAM's bus, because each memory
        controller has slices of L2. At the 48 products of tests/data/h100_unseen.json.xz, to which nothing is fitted, this
        lowers the error of the formula from 0.072 to 0.050, and the cost of choosing by it from 4.4 to 3.7 percent; other
        GPUs have not been compared."""
        clock, sms = gpu.clock_khz / H200.clock_khz, gpu.sms / H200.sms
        return replace(self, clock_ghz=self.clock_ghz * clock,
                       delivered_bytes_per_ns=self.delivered_bytes_per_ns * clock * sms,
                       l2_bytes_per_ns=self.l2_bytes_per_ns * gpu.bus_bits / H200.bus_bits,
                       dram_bytes_per_ns=self.dram_bytes_per_ns * gpu.dram / H200.dram,
                       power_tflops=self.power_tflops * clock * sms)


RATES = Rates(clock_ghz=1.485, launch_us=1.66, cluster_launch_us=0.127, start_skew_us=0.222, wgmma_column_clocks=0.479,
              many_consumers_factor=0.978, least_step_clocks=139, pair_step_factor=1.77, load_latency_us=1.17,
              tma_row_clocks=0.0632, outside_row_share=0.00142, outside_rows_per_ns=34.8, delivered_bytes_per_ns=18700,
              l2_bytes_per_ns=8240, merged_in_tpc=0.637, merged_in_gpc=1, merged_clusters=0.549, cluster_step_factor_2=1.02,
              cluster_step_factor_4=1.01, cluster_step_factor_8=1.1, tma_factor_64=15.3, tma_factor_32=17.4,
              tma_factor_16=33, l2_factor_64=0.966, l2_factor_32=0.927, l2_factor_16=0.764, merged_factor_64=0.661,
              merged_factor_32=0.623, merged_factor_16=0.402, drift_power=0.00171, tile_us=0.000114, tile_area_us=2.66,
              store_box_us=0.104, second_cta_share=0.0185, reduce_us=2.55, reduce_round_us=0.129, exchange_area_us=4.87,
              dram_bytes_per_ns=4040, power_tflops=701, row_power_share=3, norm_in_step=6.86, norm_with_l2=9.12,
              norm_with_dram=2.1, norm_with_dram_growth=0.154, norm_with_power=5.68)
"""Fitted to what tests/data has of today's kernels on an H200 and an H100 (FITTED): `python -m cuda_kernels.lab.tuning_fit`.
They serve to choose; not each of them alone is what its name says. One is not fitted so: row_power_share was set by hand,
because in short turns all configurations have one clock. Where each has that of its own power, 4096 x 4096 x 4096 took 0.99
of cuBLAS by 128 x 128 and 1.015 by 128 x 256 in clusters of 2, which a tuning run saw equal. In settled turns
(tests/data/h100_settled.json.xz, h200_settled.json.xz) choosing by the formula costs 4.5 and 3.5 percent with it, 4.6 and
3.7 without."""

FITTED = ("h200_likely", "h200_narrow", "h200_majors", "h200_long", "h200_fp8", "h200_groups", "h100_likely", "h100_narrow",
          "h100_majors", "h100_more", "h100_drawn", "h100_fp8", "h100_groups")
"""Records in tests/data; and 512 times at eight large products of 8 bits, which today are rows of h100_settled."""

"""The words of the lessons in Chinese: those of NVIDIA's Chinese pages and of Chinese tutorials on GEMM kernels.

Words that Chinese programmers say in English (bank, warp, lane, wavefront, tile, swizzle) stay so, with an explanation where
they first occur; the others are translated, with the English word in parentheses where they first occur.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """english: the word of the English lessons; chinese: that of the Chinese ones; told: how a lesson says it where it first
    occurs, "" where it needs no explanation; never: words for the same that the lessons do not use."""

    english: str
    chinese: str
    told: str = ""
    never: tuple = ()


GLOSSARY = (
    Term("bank", "bank", "bank（存储体）", ("存储库", "存储区")),
    Term("bank conflict", "bank 冲突", "", ("存储体冲突", "bank conflict")),
    Term("word", "字", "字（word）"),
    Term("warp", "warp", "warp（线程束）", ("线程组",)),
    Term("lane", "lane", "lane（warp 内的线程）", ("通道", "车道")),
    Term("wavefront", "wavefront", "一个 wavefront", ("波前", "波阵面")),
    Term("shared memory", "共享内存", "共享内存（shared memory）", ("共享存储",)),
    Term("excess", "超额", "超额（excess）", ("多余的 wavefront",)),
    Term("stride", "步长", "`stride` 就是步长", ("步幅", "跨度")),
    Term("tile", "tile", "tile（分块）", ("瓦片", "图块")),
    Term("layout", "布局", "", ("排布方案",)),
    Term("padding", "填充", "填充（padding）", ("补齐", "衬垫")),
    Term("broadcast", "广播"),
    Term("transposition", "转置"),
    Term("phase", "phase", "phase（阶段）", ("相位",)),
    Term("ideal", "理想值", "", ("最优值",)),
    Term("chunk of 16 bytes", "16 字节块", "", ("大块",)),
    Term("pitch", "行距", "行距（pitch）"),
    Term("fragment", "片段", "片段（fragment）", ("分片", "碎片")),
    Term("register", "寄存器"),
    Term("global memory", "全局内存", "全局内存（global memory）", ("全局存储", "显存")),
    Term("swizzle", "swizzle", "", ("混洗", "洗牌", "置乱")),
    Term("block (of a tile)", "方块"),
    Term("rotation", "循环移位", "循环移位（rotation）", ("旋转", "轮转")),
    Term("stage", "一级", "一级（stage）"),
    Term("domain", "定义域", "定义域（domain）"),
    Term("barrier", "屏障", "屏障（barrier）", ("栅栏", "路障")),
    Term("hazard", "冒险", "冒险（hazard）", ("危险", "隐患")),
    Term("tensor map", "张量映射", "张量映射（tensor map）"),
    Term("descriptor", "描述符", "描述符（descriptor）"),
    Term("accumulator", "累加器", "累加器（accumulator）"),
    Term("race", "竞争", "数据竞争（race）", ("竞态",)),
    Term("pipeline", "流水线", "流水线（pipeline）", ("管线", "管道")),
)
"""In the order of the lessons."""

"""What `check` says, in every language: a sentence with its values, and the Chinese of each.

The English stands where it is said. A test holds that each sentence has its Chinese, with as many values.
"""


class Said:
    """A sentence. template: in English, with {} for each of the values, which may be Saids themselves.

    >>> print(Said("with {}: {}", Said("1 chunk"), 7), Said("with {}: {}", Said("1 chunk"), 7).text("zh"), sep="\\n")
    with 1 chunk: 7
    有 1 块时：7
    """

    def __init__(self, template, *values):
        self.template, self.values = template, values

    def text(self, language="en"):
        """The sentence in a language."""
        template = CHINESE.get(self.template, self.template) if language == "zh" else self.template
        return template.format(*(text_of(value, language) for value in self.values))

    def __str__(self):
        return self.text()


def text_of(value, language):
    """A Said in a language; anything else as it is printed."""
    return value.text(language) if isinstance(value, Said) else str(value)


CHINESE = {
    # what check says of any exercise
    "{}: no answer yet ({})": "{}：还没有答案（要的是：{}）",
    "{}: not yet": "{}：还不对",
    "{}: right": "{}：对了",
    "{}: right; {}": "{}：对了；{}",
    "({})": "（要的是：{}）",
    "the answer could not be tried: {}: {} ({})": "这个答案没法试：{}: {}（要的是：{}）",
    "": "下面是 simlayout 的报告，原文是英文：",
    # several exercises
    "{} has the shape {}; the tile's is {}": "{} 的形状是 {}，而 tile 的是 {}",
    "{} is no tile: give a swizzle, a layout of shape {} or a function (row, col)":
        "{} 不是 tile：请给一个 swizzle、一个形状为 {} 的布局，或者一个函数 (row, col)",
    "32 integers are asked for, one byte address for each lane, not {}":
        "要的是 32 个整数，每个 lane 一个字节地址，而不是 {}",
    "lane {} has the byte address {}: it must be a multiple of {}, and not negative":
        "lane {} 的字节地址是 {}：它必须是 {} 的倍数，而且不能是负数",
    "{} is an integer, not {}": "{}是一个整数，而不是 {}",
    "not defined on a GPU: {}": "在 GPU 上没有定义：{}",
    "c[{}, {}] is {}, and a[{}, {}] is {}: {}": "c[{}, {}] 是 {}，而 a[{}, {}] 是 {}：{}",
    "the kernel does not use shared memory": "这个 kernel 没有用共享内存",
    "line {}: {} takes {} wavefronts for {} instructions, {} without conflicts: {}":
        "第 {} 行：{} 用了 {} 个 wavefront，共 {} 条指令；没有冲突时是 {} 个：{}",
    "lanes {} and {} want bank {}, with the words {} and {}": "lane {} 和 {} 都要 bank {}，要的字是 {} 和 {}",
    "the pitch": "行距",
    "the lane": "lane ",
    "the value": "value ",
    "no byte is wasted": "没有浪费一个字节",
    # 1
    "lanes {} and {} have the same word, {}: all 32 are to be different": "lane {} 和 {} 是同一个字 {}：32 个要各不相同",
    "the load takes fewer wavefronts than {}: {}": "这次读取用的 wavefront 少于 {} 个：{}",
    "{}, but no bank has {} words": "{}，但没有哪个 bank 有 {} 个字",
    "no two of its lanes share a bank": "没有两个 lane 在同一个 bank",
    "the load takes more wavefronts than {}: {}\n{}": "这次读取用的 wavefront 多于 {} 个：{}\n{}",
    "a Layout of shape (32, 32) is asked for, as in sl.Layout((32, 32), (32, 1)), not {}":
        "要的是一个形状为 (32, 32) 的 Layout，例如 sl.Layout((32, 32), (32, 1))，而不是 {}",
    "it takes {} bytes, {} more than the tile": "它占 {} 字节，比 tile 多 {} 字节",
    "it wastes no byte": "没有浪费一个字节",
    "32 byte addresses of 32 different words that take exactly {} wavefronts":
        "32 个字节地址，各是不同的字，恰好用 {} 个 wavefront",
    "pad a 32x32 tile of f32": "给 32x32 的 f32 tile 加填充",
    "a function (row, col) -> word that permutes the 1024 words of a 32x32 tile of f32":
        "一个函数 (row, col) -> 字，把 32x32 的 f32 tile 的 1024 个字重新排列",
    # 2
    "the lanes have {} different addresses, not 16": "各 lane 共有 {} 个不同的地址，而不是 16 个",
    "lanes 0 and 1 have one address, {}: pair the lanes in the other way": "lane 0 和 1 的地址相同，都是 {}：请用另一种配对",
    "{} wavefronts: {}": "{} 个 wavefront：{}",
    "the lanes pair up, but {}": "各 lane 都配成了对，但是{}",
    "lanes {} and {} (lane ^ {}) have the addresses {} and {}; groups merge only if lane ^ 1, or lane ^ 2, has the same "
    "address all over the warp":
        "lane {} 和 {}（lane ^ {}）的地址是 {} 和 {}；只有整个 warp 里 lane ^ 1（或者 lane ^ 2）的地址都相同，各组才会合并",
    "a function (tid, i) -> offset in floats is asked for, not {}":
        "要的是一个函数 (tid, i) -> 以 float 计的偏移，而不是 {}",
    "tid = {}, i = {}: offset {} is not a multiple of 4 floats, 16 bytes":
        "tid = {}，i = {}：偏移 {} 不是 4 个 float（16 字节）的倍数",
    "a function (tid, k) -> (row, col) is asked for, not {}": "要的是一个函数 (tid, k) -> (row, col)，而不是 {}",
    "32 addresses, 16 different ones, lanes 0 and 1 apart, that ld.shared.b128 reads in 2 wavefronts":
        "32 个地址，其中 16 个不同，lane 0 和 1 不相同，ld.shared.b128 用 2 个 wavefront 读完",
    "a function (tid, i) -> offset in floats of the i-th 16 bytes of each thread":
        "一个函数 (tid, i) -> 每个线程第 i 段 16 字节的偏移，以 float 计",
    "a function (tid, k) -> (row, col) by which ld.shared.b64 reads a 16x32 tile of f32":
        "一个函数 (tid, k) -> (row, col)，ld.shared.b64 按它读 16x32 的 f32 tile",
    # 3
    "a pitch of {} halves: rows have {}, and the pitch is to be at most {}":
        "行距 {} 个 half：一行有 {} 个，而行距最多是 {}",
    "rows begin {} bytes apart": "相邻两行的开头相隔 {} 字节",
    "a function tid -> (row, col) is asked for, not {}": "要的是一个函数 tid -> (row, col)，而不是 {}",
    "lane {} gives the 16 bytes from {} on: row {} of matrix {}, which comes into register {}. There mma wants other "
    "elements of {}, from {} on":
        "lane {} 给出从 {} 开始的 16 字节：即第 {} 行，属于矩阵 {}，进入寄存器 {}。那里 mma 要的是 {} 的另一些元素，"
        "从 {} 开始",
    "a pitch in halves, at most {}, for a 16x64 tile": "16x64 的 tile 的行距，以 half 计，最多 {}",
    "a function tid -> (row, k) of A by which ldmatrix.x4 fills fragment A of m16n8k16":
        "一个函数 tid -> A 的 (row, k)，ldmatrix.x4 按它填满 m16n8k16 的片段 A",
    "a function tid -> (k, n) of B by which ldmatrix.x4.trans fills two fragments B of m16n8k16":
        "一个函数 tid -> B 的 (k, n)，ldmatrix.x4.trans 按它填满 m16n8k16 的两个片段 B",
    # 4
    "a pair (lane, value) is asked for, not {}": "要的是一对数 (lane, value)，而不是 {}",
    "lane {}, value {}: there are lanes 0 to {}, each with values 0 to {}":
        "lane {}，value {}：lane 是从 0 到 {}，每个的 value 是从 0 到 {}",
    "value {} of lane {} is element {} of D, not {}": "value {}（lane {}）是 D 的元素 {}，而不是 {}",
    "a function (lane, value) -> (row, col) is asked for, not {}": "要的是一个函数 (lane, value) -> (row, col)，而不是 {}",
    "lane {}, value {}: {} is said, and the fragment has element {}": "lane {}，value {}：答案是 {}，而片段里是元素 {}",
    "on all {} values": "全部 {} 个值都对",
    "16 instructions, a wavefront each": "16 条指令，各用一个 wavefront",
    "(lane, value) of element {} of D of m16n8k16": "m16n8k16 的 D 的元素 {} 在哪里：(lane, value)",
    "a function (lane, value) -> (row, col) of fragment A of m16n8k16":
        "m16n8k16 的片段 A 的函数 (lane, value) -> (row, col)",
    "a place for 16x64 halves of D, of at most 1152 halves, stored by st.shared.b32":
        "给 D 的 16x64 个 half 找一个地方，最多 1152 个 half，由 st.shared.b32 写入",
    # 5
    "{} accesses without conflicts, and no byte wasted": "{} 种访问都没有冲突，也没有浪费一个字节",
    "a swizzle of the 16x16 tile of halves, as sl.Swizzle(B, M, S)":
        "16x16 的 half tile 的 swizzle，写成 sl.Swizzle(B, M, S)",
    "a swizzle of the 16x32 tile of halves": "16x32 的 half tile 的 swizzle",
    "a swizzle of the 16x256 tile of halves that serves rows and blocks":
        "16x256 的 half tile 的 swizzle，行和方块都要照顾到",
    # 6
    "a pitch of {} halves: rows of 32 halves overlap": "行距 {} 个 half：每行有 32 个 half，行与行会重叠",
    "a pitch of {} halves: 64 rows take {} bytes, and may take {}": "行距 {} 个 half：64 行要占 {} 字节，最多只能占 {} 字节",
    "the load is free, and each copy has {} excess wavefronts": "读取没有冲突；每次拷贝超额 {} 个 wavefront",
    "a rotation is asked for, sl.Rotation(chunk, count, line), not {}":
        "要的是一个循环移位 sl.Rotation(chunk, count, line)，而不是 {}",
    "load and copy are free, and no byte is wasted": "读取和拷贝都没有冲突，也没有浪费一个字节",
    "a pitch in halves for the 64x32 tile, within {} bytes": "64x32 的 tile 的行距，以 half 计，总共不超过 {} 字节",
    "sl.Rotation(chunk, count, line) for the 64x32 tile": "64x32 的 tile 的 sl.Rotation(chunk, count, line)",
    "a place for a 24x48 tile of halves within its 1152 elements":
        "给 24x48 的 half tile 找一个地方，就在它的 1152 个元素之内",
    # 7
    "a function of (row, col) or a text is asked for, not {}": "要的是 (row, col) 的函数，或者一段文本，而不是 {}",
    "a function (tid, i) -> (row, col) is asked for, not {}": "要的是一个函数 (tid, i) -> (row, col)，而不是 {}",
    "a kernel, a function of (a, c), is asked for, not {}": "要的是一个 kernel，即 (a, c) 的函数，而不是 {}",
    "this is no transposition": "这不是转置",
    "let rows begin in other banks": "让各行从不同的 bank 开始",
    "{} wavefronts for {} instructions": "{} 个 wavefront，共 {} 条指令",
    "Sw<3,3,3> o (16,64):(64,1) as a function of (row, col), or a text":
        "把 Sw<3,3,3> o (16,64):(64,1) 写成 (row, col) 的函数，或者一段文本",
    "a function (tid, i) -> (row, col), where each thread stores 8 halves in trip i of 4":
        "一个函数 (tid, i) -> (row, col)：共 4 趟，每个线程在第 i 趟写 8 个 half",
    "a kernel (a, c) that transposes 32x32 floats with 64 threads": "一个 kernel (a, c)，用 64 个线程转置 32x32 个 float",
    # 8
    "an sl.TensorMap is asked for, not {}": "要的是一个 sl.TensorMap，而不是 {}",
    "the matrix has f16 elements, dims (4096, 4096) and strides (8192,) in bytes; the map has {}, {} and {}":
        "矩阵的元素是 f16，dims 是 (4096, 4096)，strides 是 (8192,)，以字节计；而这个张量映射的是 {}、{} 和 {}",
    "the box has {} rows of {} elements, the tile 64 of 64": "box 有 {} 行，每行 {} 个元素；tile 是 64 行，每行 64 个",
    "element (row {}, col {}) of the box lands at byte {}, and the tile has it at {}":
        "box 的元素（行 {}，列 {}）落在字节 {}，而 tile 里它在 {}",
    "a list of 4 descriptors is asked for, not {}": "要的是 4 个描述符的列表，而不是 {}",
    "value {} of thread {} (warp {}, lane {}) is element {} of D, not {}":
        "value {}（线程 {}，即 warp {} 的 lane {}）是 D 的元素 {}，而不是 {}",
    "an sl.TensorMap whose box lies as Sw<3,3,3> o (64,64):(64,1)":
        "一个 sl.TensorMap，它的 box 按 Sw<3,3,3> o (64,64):(64,1) 存放",
    "4 descriptors of 128 columns of B at byte {}, in their order along K":
        "B 的 128 列的 4 个描述符，从字节 {} 开始，按沿 K 的次序",
    "(thread, value) of element {} of D of m64n64k16": "m64n64k16 的 D 的元素 {} 在哪里：(thread, value)",
    # 9
    "a function of stages is asked for, not {}": "要的是 stages 的函数，而不是 {}",
    "pending({})": "pending({}) ",
    "pending({}) is {}: wait_group takes 0 or more": "pending({}) 是 {}：wait_group 要 0 或更大的数",
    "{} groups": "{} 个组",
    "1 group": "1 个组",
    "stages = {}, step 0: {} committed, and wait_group {} leaves {} of them under way: chunk 0 may be one":
        "stages = {}，第 0 步：已提交 {}，而 wait_group {} 让其中 {} 个还在途中：第 0 块可能就是其中之一",
    "stages = {}, step 0: wait_group {} waits for chunks 0 to {}, and only chunk 0 is read: the others could still be under "
    "way":
        "stages = {}，第 0 步：wait_group {} 等到了第 0 到 {} 块，而读的只有第 0 块：其余的本来可以还在途中",
    "a kernel, a function of (a, c, chunks), is asked for, not {}": "要的是一个 kernel，即 (a, c, chunks) 的函数，而不是 {}",
    "with {}: {}": "{}时：{}",
    "with {}: thread {} stores {}, and the words of thread {} add up to {}":
        "{}时：线程 {} 写的是 {}，而线程 {} 的字加起来是 {}",
    "with {}: no line of the kernel copies with cp.async": "{}时：kernel 里没有一行用 cp.async 拷贝",
    "{} chunks": "有 {} 块",
    "1 chunk": "有 1 块",
    "a function of stages: how many groups wait_group may leave under way": "stages 的函数：wait_group 可以让几个组还在途中",
    "a kernel (a, c, chunks) that adds up chunks, copied with cp.async":
        "一个 kernel (a, c, chunks)，把用 cp.async 拷贝的各块加起来",
    # 10
    "a function of the text is asked for, not {}": "要的是以这段文本为参数的函数，而不是 {}",
    "the function returns {}, and PTX is a text": "函数返回的是 {}，而 PTX 是一段文本",
    "do stores and loads agree, and the constants too that step 8 rows further?":
        "写和读对得上吗？往后走 8 行的那些常数呢？",
    "give each row of the tile other banks": "让 tile 的每一行用不同的 bank",
    "a line": "行号",
    "a pair of lines is asked for, not {}": "要的是一对行号，而不是 {}",
    "line {} and line {} are the two, but which of them should come first?": "就是第 {} 行和第 {} 行，但哪一行应该在先？",
    "line {} is not the one: look for the line of transpose.cu that {} shared memory":
        "不是第 {} 行：请找 transpose.cu 里{}共享内存的那一行",
    "stores": "写",
    "loads": "读",
    "a function of the PTX that returns PTX without bank conflicts": "一个函数，参数是 PTX，返回没有 bank 冲突的 PTX",
    "a pair: the line that should come first, and the other": "一对行号：应该在先的那一行，和另一行",
}
"""English sentence -> Chinese."""

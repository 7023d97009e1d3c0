"""The second and the third hint of each exercise: where to look, and what kind of change helps.

The first is what fails, which the answer itself decides. None of them uses what the lesson has not taught before.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hint:
    """where: where to look; change: what kind of change."""

    where: str
    change: str


LABELS = {
    "en": ("where to look: ", "what to change: "),
    "zh": ("看哪里：", "怎样改："),
}
"""Language -> what stands before the two."""

MORE = {
    "en": ("(hints=2 says where to look, hints=3 also what kind of change helps)",
           "(hints=3 says what kind of change helps)"),
    "zh": ("（hints=2 还说看哪里，hints=3 再说怎样改）", "（hints=3 还说怎样改）"),
}
"""Language -> how to ask for more, behind the first hint and behind the second."""

ENGLISH = {
    "1.1": Hint("Write down each lane's bank, its word modulo 32. The fullest bank decides.",
                "Choose another stride, by the rule of the strides."),
    "1.2": Hint("The lanes that read a column are one row apart, so the first stride decides the banks.",
                "Make rows longer until that stride visits every bank; 4608 bytes are 36 words a row."),
    "1.3": Hint("In a column only `row` changes, so `row` has to change the bank, the word modulo 32.",
                "Move the elements within their row, in each row by another amount; what leaves it at one end comes in at "
                "the other."),
    "2.1": Hint("The rule names two ways to pair: lane 0 has another partner than lane 1.",
                "Pair 0 with 2, 1 with 3, and so on; the eight addresses of lanes 0-15 need eight places modulo 8."),
    "2.2": Hint("Take the eight lanes of one phase: their offsets in pieces of 4 floats, modulo 8, have to differ.",
                "Either put what all threads read in one trip side by side, or exchange the two pieces of some threads."),
    "2.3": Hint("A phase has 16 lanes with 8 bytes each; a row of this tile fills the 32 banks exactly once.",
                "Let the lanes of a phase share one row, and go down the rows from trip to trip."),
    "3.1": Hint("Count chunks of 16 bytes from one row to the next: 64 halves are 8. Which counts were free above?",
                "Add whole chunks until their number is odd."),
    "3.2": Hint("Lane 8m + r gives row r of matrix m. Compare the order in which mma wants the four corners of A.",
                "Let the second and the third eight lanes exchange their corners."),
    "3.3": Hint("Registers 0 and 1 are k 0-7 and k 8-15 of n 0-7: matrices 0 and 1 follow one another along k.",
                "Let the first 16 lanes walk down k, and the other 16 do the same eight columns further."),
    "4.1": Hint("In the picture, find column 5 and the row that is eight above row 10.",
                "The lane is the one there; its first two values are the upper pair, the other two the lower one."),
    "4.2": Hint("Follow values 0 to 7 of lane 0 in the picture: which step goes right, which down, which far right?",
                "Let each of the three bits of the value do one of these."),
    "4.3": Hint("In one store four lanes write 16 bytes of each of eight rows. Which banks has row 0, and which row 1?",
                "Let each row begin four banks further: by longer rows, or by moving pieces of 16 bytes within the row."),
    "5.1": Hint("In `by_hand`: how many bits are taken, onto which bit do they come, and from how far above?",
                "B is how many, M is the lowest bit that changes, S is the distance."),
    "5.2": Hint("A chunk's place is (4 * row + chunk) % 8: rows 0, 2, 4 and 6 share it. Which bits tell these apart?",
                "Take two bits of the row, and leave out the row's lowest, which the places already see."),
    "5.3": Hint("In a phase `rows` changes the offset bits 4 to 6, and `blocks` the bits 8 to 10; the place in the banks is "
                "bits 3 to 5.",
                "One layer brings a single bit down for the rows, the other three bits for the blocks."),
    "6.1": Hint("Count a row in chunks of 16 bytes. 64 rows in 5120 bytes have 80 bytes each.",
                "Add whole chunks until their number is odd."),
    "6.2": Hint("Two neighbouring rows share 128 bytes and are apart already. Which of the eight rows share a place?",
                "Let the rotation advance once for each 128 bytes, not with every row."),
    "6.3": Hint("The place of a chunk is (6 * row + chunk) % 8. Which of the eight rows of a matrix share one?",
                "Rows four apart must differ: rotate all six chunks every four rows, or XOR one bit that differs there."),
    "7.1": Hint("Rows have 64 elements: the row begins at bit 6 of the offset. Which bits does the swizzle take, where to?",
                "Mask as many bits of `row` as the swizzle takes, and shift them to the lowest bit of a chunk."),
    "7.2": Hint("A row has 8 pieces of 8 halves. How many rows can a warp store in a trip, and which lanes are a phase?",
                "Let the eight lanes of a phase store one whole row, and go down the rows from trip to trip."),
    "7.3": Hint("One side goes down a column; and each warp reads what the other has stored.",
                "Place the elements so that a column has all banks (lesson 1), and order the stores before the loads."),
    "8.1": Hint("`box` has the innermost dimension first. How many bytes long is a row of the tile?",
                "64 bytes were Sw<2,3,3>; with one more bit rows are twice as long."),
    "8.2": Hint("How many bytes along K does one instruction read? And how far is it from 8 columns of B to the next 8?",
                "Let the starts grow by what one instruction reads; the stride is eight rows of the box."),
    "8.3": Hint("Find the warp by its 16 rows first. Within it, it is fragment D of lesson 4.",
                "Every eight columns are four values further on; row and column within give lane and value as in lesson 4."),
    "9.1": Hint("How many groups have been committed when step 0 waits? Only chunk 0 has to be there.",
                "Leave all of these under way but one."),
    "9.2": Hint("Compare how many groups are committed before the wait of a step in the middle, and of the last one. And "
                "what is copied before the loop if chunks is 1?",
                "Commit in every step, whether something was copied or not, and copy only chunks that there are."),
    "10.1": Hint("Look for what knows that a row has 128 bytes: the array's size, two shifts by 7, the constants at "
                 "loads and stores.",
                 "Make rows 4 bytes longer in all of these; 132 is no power of two: mul.lo.s32 replaces the shift."),
    "10.2": Hint("Both accesses are of shared memory, of `tile`: one stores it, the other loads it.",
                 "What is read has to be stored before: the line of the store comes first."),
}

CHINESE = {
    "1.1": Hint("写下每个 lane 的字所在的 bank，即字的编号模 32。最满的 bank 说了算。", "按步长的规律，换一个步长。"),
    "1.2": Hint("读一列的各个 lane 相隔一行，所以它们的 bank 由第一个步长决定。",
                "把行加长，直到第一个步长走遍所有 bank；4608 字节合每行 36 个字。"),
    "1.3": Hint("在一列里只有 `row` 在变，所以 `row` 必须改变 bank，即字的编号模 32。",
                "让元素在本行之内移动，每行移动的量不同；从一端出去的，从另一端进来。"),
    "2.1": Hint("那条规则说了两种配对：lane 0 除了 lane 1，还有另一个伙伴。",
                "0 配 2，1 配 3，依此类推；再让 lane 0 到 15 的八个地址模 8 占八个位置。"),
    "2.2": Hint("取一个 phase 的八个 lane：偏移以 4 个 float 为一段来数，模 8 必须互不相同。",
                "或者把所有线程同一趟读的东西并排放，或者让一部分线程交换它们的两段。"),
    "2.3": Hint("一个 phase 有 16 个 lane，各 8 字节；这个 tile 的一行恰好把 32 个 bank 铺满一次。",
                "让一个 phase 的 lane 共用一行，一趟一趟地往下走。"),
    "3.1": Hint("数一数从一行到下一行有几个 16 字节块：64 个 half 是 8 个。上面哪些块数没有冲突？",
                "加上整数个块，直到块数是奇数。"),
    "3.2": Hint("lane 8m + r 给出矩阵 m 的第 r 行。对照一下，mma 按什么次序要 A 的四个角。",
                "让第二组和第三组八个 lane 交换它们的角。"),
    "3.3": Hint("寄存器 0 和 1 是 n 0-7 的 k 0-7 和 k 8-15：矩阵 0 和 1 沿 k 前后相接。",
                "让前 16 个 lane 沿着 k 往下走，后 16 个 lane 在往右八列处做同样的事。"),
    "4.1": Hint("在图里找到第 5 列，以及第 10 行往上八行的那一行。",
                "lane 就是那里的那个；它的前两个值是上面的一对，后两个是下面的一对。"),
    "4.2": Hint("在图里跟踪 lane 0 的值 0 到 7：哪一步向右，哪一步向下，哪一步远远地向右？",
                "让 value 的三个比特各管其中一件事。"),
    "4.3": Hint("一次写入里，八行各由四个 lane 写 16 字节。第 0 行用的是哪些 bank，第 1 行呢？",
                "让每一行往后错开四个 bank：把行加长，或者在行内移动 16 字节块。"),
    "5.1": Hint("在 `by_hand` 里：取了几个比特，放到哪个比特上，从高出多少的地方取？",
                "B 是个数，M 是会变的最低的比特，S 是距离。"),
    "5.2": Hint("块的位置是 (4 * row + chunk) % 8：第 0、2、4、6 行相同。偏移的哪些比特能区分它们？",
                "取行号的两个比特，但不取最低的那个：位置已经能看到它了。"),
    "5.3": Hint("一个 phase 里，`rows` 变的是偏移的比特 4 到 6，`blocks` 是 8 到 10；bank 中的位置是 3 到 5。",
                "一层为行取下一个比特，另一层为方块取下三个比特。"),
    "6.1": Hint("以 16 字节块来数一行。64 行共 5120 字节，每行 80 字节。", "加上整数个块，直到块数是奇数。"),
    "6.2": Hint("相邻的两行共用 128 字节，本来就错开了。八行里哪些行的位置相同？",
                "让移位每过 128 字节增加一，而不是每过一行。"),
    "6.3": Hint("块的位置是 (6 * row + chunk) % 8。一个矩阵的八行里，哪些行的位置相同？",
                "相隔四行的必须不同：每四行把六个块都转一下，或者异或一个在那里不同的比特。"),
    "7.1": Hint("每行 64 个元素，所以行号从偏移的比特 6 开始。swizzle 取哪些比特，放到哪里？",
                "swizzle 取几个比特，就从 `row` 里取几个，再移到块的最低比特上。"),
    "7.2": Hint("一行有 8 段，每段 8 个 half。一个 warp 一趟能写几行，哪些 lane 是一个 phase？",
                "让一个 phase 的八个 lane 写满一整行，一趟一趟地往下走。"),
    "7.3": Hint("有一边是沿着列走的；而且每个 warp 读的是另一个 warp 写的。",
                "这样安放元素：一列用到所有的 bank（第 1 课）；并规定写在读之前。"),
    "8.1": Hint("`box` 把最内层的维度写在前面。tile 的一行有多少字节？",
                "64 字节对应 Sw<2,3,3>；多一个比特，行长加倍。"),
    "8.2": Hint("一条指令沿 K 读多少字节？从 B 的 8 列到下 8 列有多远？",
                "起始地址每次增加一条指令所读的量；步长是 box 的八行。"),
    "8.3": Hint("先按 16 行一组找到 warp；在其中就是第 4 课的片段 D。",
                "每八列，值往后数四个；组内的行和列给出 lane 和值，与第 4 课相同。"),
    "9.1": Hint("第 0 步等待时，已经提交了几个组？只有第 0 块必须到了。", "除了一个以外，都可以还在途中。"),
    "9.2": Hint("比较中间一步和最后一步：等待之前提交了几个组？如果 chunks 是 1，循环之前拷贝了什么？",
                "每一步都提交，不管有没有拷贝；并且只拷贝存在的块。"),
    "10.1": Hint("找出所有知道一行是 128 字节的地方：数组的大小，两处移 7 位，读写处的常数。",
                 "在这些地方都让行长多 4 字节；132 不是 2 的幂，所以移位要换成 mul.lo.s32。"),
    "10.2": Hint("两次访问都是对共享内存里的 `tile`：一次写它，一次读它。",
                 "要读的东西必须先写好：写的那一行在先。"),
}

HINTS = {"en": ENGLISH, "zh": CHINESE}
"""Language -> exercise -> Hint."""

"""What of PTX the machine does not have, and what to do about it."""

_TEXTURES = ("tex tld4 txq istypep", "no textures",
             "read the array through a pointer in a kernel for it (__ldg, ld.global.nc)")
_SURFACES = ("suld sust sured suq", "no surfaces", "read and write the array through a pointer in a kernel for it")
_STACK = ("alloca stacksave stackrestore", "no local memory of a size that a thread tells", "give the array a constant size")
_SEVERAL = ("multimem", "one GPU, and no multicast objects of several",
            "add in the memory of one GPU (red, atom), and load from there")
_VIDEO = ("vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2 vabsdiff2 vavrg2 vmin2 vmax2 vset2 "
          "vadd4 vsub4 vabsdiff4 vavrg4 vmin4 vmax4 vset4", "no vmad, and no video instructions that name pieces",
          "write it in plain C")

_ROWS = {opcode: (lacks, instead) for opcodes, lacks, instead in (_TEXTURES, _SURFACES, _STACK, _SEVERAL, _VIDEO)
         for opcode in opcodes.split()}

IM2COL = "the machine has no im2col copies: load tiles (.tile) of a matrix that is laid out so"
"""Of cp.async.bulk.tensor."""


_DEVICE_RUNTIME = "__cudaCDP2", "cudaGetParameterBuffer", "cudaLaunchDevice"
"""How the names of functions begin by which kernels launch kernels."""


def called(function: str) -> str | None:
    """The same of a function of CUDA's runtime, None where nothing is known of it.

    >>> called("__cudaCDP2LaunchDeviceV2"), called("missing")
    ('the machine has no launches of kernels by kernels (__cudaCDP2LaunchDeviceV2): launch both from the host', None)
    """
    if not function.startswith(_DEVICE_RUNTIME):
        return None
    return f"the machine has no launches of kernels by kernels ({function}): launch both from the host"


def told(opcode: str) -> str:
    """That the machine lacks an opcode, and what may take its place.

    >>> told("tex")
    'the machine has no textures (tex): read the array through a pointer in a kernel for it (__ldg, ld.global.nc)'
    >>> told("frobnicate")
    'the machine has no frobnicate'
    """
    if opcode not in _ROWS:
        return f"the machine has no {opcode}"
    lacks, instead = _ROWS[opcode]
    return f"the machine has {lacks} ({opcode}): {instead}"

"""gemm and kernels: the main job, and the list of its kernels. `cuda_kernels` is imported when they are called."""

import sys
from dataclasses import fields

from simlayout.cli import registry
from simlayout.cli.options import add, add_own
from simlayout.cli.options import kernels as kernel_names
from simlayout.cli.text import field, fit, tell, teller
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.kernel import Problem
from simlayout.progress import progress

KERNEL = "mma_permuted"
"""The default."""

CPU_SIZE = {"M": 256, "N": 256, "K": 128}
GPU_SIZE = {"M": 4096, "N": 4096, "K": 4096}
OPTIONS = ("stages", "accumulate", "warps", "loads", "c_store", "tile_m", "tile_n", "cluster_m", "cluster_n")
"""The options of kernels that the command line can set; a kernel has some of them."""


def describe_gemm(parser):
    """The parser of `simlayout gemm`."""
    parser.answer(gemm, """
        simlayout gemm                                        # the default kernel, on the GPU if there is one
        simlayout gemm --kernel mma_base --cpu -M 256 -N 256 -K 128
        simlayout gemm --kernel mma_permuted -M 1000 -N 1384 -K 520 --stages 4 --accumulate f32
        simlayout gemm --kernel mma_crosswise --warps 8 --loads mixed --json
        simlayout gemm --kernel wgmma_persistent --tile-n 128 --stages 6 --cluster-m 2
        """, f"""
    C (M, N) = A (M, K) times B (N, K) transposed, in f16; (M, N, K) is {tuple(GPU_SIZE.values())} on a GPU and
    {tuple(CPU_SIZE.values())} on the CPU machine, by default. Without a GPU the same kernel runs on the CPU machine,
    which counts its wavefronts. The wgmma kernels need a GPU of compute capability 9.0, or --cpu. The exit code is 1 if C
    or a count is wrong.

    The table has a line for each access of shared memory: its warp instructions, their wavefronts (passes through the 32
    banks), the ideal without conflicts, and the excess, of all and of each; executed is equal where the CPU machine has
    counted the same. An access of TMA or wgmma has TMA bytes or wavefronts alone.
    """)
    add_kernel(parser)
    add(parser, "-M", "-N", "-K")
    add_kernel_options(parser)
    where = parser.add_mutually_exclusive_group()
    add(where, "--cpu")
    where.add_argument("--gpu", dest="device", action="store_const", const="gpu", help="on the GPU, or not at all")
    add(parser, "--json")


def describe_kernels(parser):
    """The parser of `simlayout kernels`."""
    parser.answer(kernels, """
        simlayout kernels
        simlayout kernels mma_permuted
        simlayout kernels --json
        """)
    add_own(parser, "named", nargs="?", metavar="KERNEL", values=kernel_names,
            help="the plan of this one (default: list all)")
    add(parser, "--json")


def add_kernel(parser):
    """The kernel of a command, by its place or by --kernel; `chosen_kernel` reads both."""
    add_own(parser, "named", nargs="?", metavar="KERNEL", values=kernel_names,
            help="see `simlayout kernels` (default: mma_permuted); or by --kernel")
    add(parser, "--kernel")


def add_kernel_options(parser):
    """The options of kernels, and the seed of their operands."""
    add(parser, "--stages", "--accumulate", "--warps", "--loads", "--c-store", "--tile-m", "--tile-n", "--cluster-m",
        "--cluster-n", "--seed")


def gemm(options):
    """`simlayout gemm`: exit code 0 if C is right and every count as predicted, 1 if not."""
    kernel = chosen_kernel(options)
    device = _device(options.device, kernel)
    default = GPU_SIZE if device == "gpu" else CPU_SIZE
    problem = [getattr(options, name) or default[name] for name in "MNK"]
    say = teller(options.json)
    announce_cost(kernel, problem, device)
    say(_heading(kernel, problem, device))
    with progress("CTAs") as moved:
        report = registry.main_job(kernel, *problem, device=device, seed=options.seed, progress=moved, say=say)
    tell(options.json, report.as_dict(), lambda: _ending(report))
    return 0 if report.ok else 1


def announce_cost(kernel, problem, device):
    """Refuses what does not fit into memory, and says on stderr how long a large product takes on the CPU machine."""
    registry.require_memory(*problem, device)
    text = registry.time_estimate(kernel, *problem) if device == "cpu" else None
    if text:
        print(f"simlayout: {text}", file=sys.stderr, flush=True)


def chosen_kernel(options):
    """The Kernel that the command line names, with the options that it gives."""
    given = {name: getattr(options, name) for name in OPTIONS if getattr(options, name) is not None}
    if options.named is not None and options.kernel is not None:
        raise SimlayoutError(f"{options.named} and --kernel {options.kernel}: give one kernel")
    name = next((name for name in (options.named, options.kernel) if name is not None), KERNEL)
    return registry.named(name).variant(**given)


def _device(device, kernel):
    """"gpu" or "cpu"; DeviceError where a GPU is asked for and there is none, or is there and cannot run the kernel."""
    if device == "cpu":
        return "cpu"
    missing = registry.gpu_problem()
    if missing and device != "gpu":
        return "cpu"
    if missing or (missing := registry.gpu_problem(kernel.needs)):
        raise DeviceError(missing)
    return "gpu"


def _heading(kernel, problem, device):
    """The problem, the kernel and its two bounds."""
    M, N, K = problem
    fitted, (plan, bounds) = described(kernel, problem, device)
    return "\n".join([
        _line("problem", f"C ({M}, {N}) = A ({M}, {K}) times B ({N}, {K}) transposed, {kernel.dtypes[0]}"),
        _line("kernel", f"{kernel.name}: {kernel.summary}{options_text(fitted)}"),
        _line("plan", plan),
        _line("bounds", bounds),
    ])


def options_text(kernel):
    """" (stages 4, accumulate f32)", or "" of a kernel without options."""
    chosen = ", ".join(f"{name} {value}" for name, value in kernel_options(kernel).items())
    return f" ({chosen})" if chosen else ""


def described(kernel, problem, device):
    """(the kernel fitted to a problem (M, N, K), (its plan, its bounds) as text)."""
    of = Problem(*problem, sms=registry.backend(kernel, device).sms)
    fitted = kernel.fitted(of)
    return fitted, fitted.described(of)


def _line(label, value):
    """A field whose value stands where the job's own lines have theirs."""
    return field(label, value, column=11)


def _ending(report):
    """The table, the times if there are any, and the verdict."""
    lines = [_line("device", report.device), "", str(report), ""]
    timing = report.timing
    if "tflops" in timing:
        share = f", {timing['share']:.3f} of cuBLAS ({timing['cublas_tflops']:.1f})" if "share" in timing else ""
        lines.append(_line("speed", f"{timing['tflops']:.1f} TFLOP/s{share}; {timing['library']}"))
    return fit("\n".join([*lines, _line("result", "ok" if report.ok else "WRONG: see above")]))


def kernel_options(kernel):
    """The kernel's options that the command line can set, by name."""
    return {f.name: getattr(kernel.options, f.name) for f in fields(kernel.options) if f.name in OPTIONS}


def kernels(options):
    """`simlayout kernels`: all of them, or the plan of one."""
    if options.named is not None:
        return _one_kernel(registry.named(options.named), options)
    facts = {name: _facts(kernel) for name, kernel in registry.KERNELS.items()}
    tell(options.json, facts, lambda: "\n".join(_listed(registry.KERNELS)))
    return 0


def _one_kernel(kernel, options):
    """What `simlayout kernels NAME` says: the plan of the product that `gemm` multiplies on a GPU."""
    problem = list(GPU_SIZE.values())
    heading = _heading(kernel, problem, "cpu")
    ways = f"`simlayout gemm {kernel.name}` runs it and counts each access, `simlayout trace {kernel.name}` each line"
    _, (plan, bounds) = described(kernel, problem, "cpu")
    tell(options.json, {kernel.name: {**_facts(kernel), "problem": problem, "plan": plan, "bounds": bounds}},
         lambda: fit("\n".join([heading, _line("further", ways)])))
    return 0


def _facts(kernel):
    """What `kernels --json` says of each."""
    return {"summary": kernel.summary, "options": kernel_options(kernel)}


def _listed(known):
    """Two lines for each kernel: what it is, and its options."""
    column = 2 + max(map(len, known))
    for name, kernel in known.items():
        flags = " ".join(f"--{option.replace('_', '-')} {value}" for option, value in kernel_options(kernel).items())
        yield "\n".join([field(name, kernel.summary, column), *([field("", flags, column)] if flags else [])])

"""What `simlayout tune` does: it measures products one after the other, and lists what is kept."""

from cuda_kernels.matmul.tune import kept, measure
from cuda_kernels.matmul.tune.entrants import described
from cuda_kernels.run import driver
from cuda_kernels.run.device import gpu_problem
from simlayout.errors import DeviceError
from simlayout.hardware.tables.arch import FEATURES


def tune_all(products, seconds, say, found):
    """Measures some Asked for about so many seconds each, keeps the best of each, and appends it to the list `found` as
    Kept. Says a line per configuration.

    An interrupt is raised again once the best of the product at hand is kept. Raises DeviceError where there is no GPU with
    a choice, SimlayoutError where nothing could be kept.
    """
    if problem := gpu_problem(FEATURES["wgmma"]):
        raise DeviceError(f"{problem}; `simlayout tune` measures on the GPU that it tunes for")
    kept.check_room()
    cuda = driver.cuda()
    wanted = list(dict.fromkeys(product.wanted(cuda, 0) for product in products))
    say(f"{kept.place_of(cuda, 0)}")
    measure.compile_likely(cuda, 0, wanted)
    for number, one in enumerate(wanted):
        try:
            best = measure.tune(cuda, 0, one, seconds, say)
        except KeyboardInterrupt:
            if len(wanted) > 1:
                say(f"{number} of {len(wanted)} products were measured whole")
            raise
        found += [best] if best else []


def listed(all_found):
    """Some Kepts as text, a line per product under each GPU."""
    places = {}
    for found in all_found:
        places.setdefault(found.place, []).append(found)
    lines = []
    for place, of_place in places.items():
        lines.append(str(place))
        lines += [f"  {found.wanted}: {found.result}, {found.date}: {described(found.config)}" for found in
                  sorted(of_place, key=lambda f: (f.wanted.K * f.wanted.M * f.wanted.N, str(f.wanted)))]
    return "\n".join(lines or ["nothing is kept: `simlayout tune M N K` measures a product"])

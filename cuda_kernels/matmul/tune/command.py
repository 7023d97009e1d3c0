"""What `simlayout tune` does: measures products one after the other, lists what is kept, and forgets it."""

from cuda_kernels.matmul.tune import kept, measure
from cuda_kernels.matmul.tune.entrants import described
from cuda_kernels.run import driver
from cuda_kernels.run.device import gpu_problem
from simlayout.errors import DeviceError
from simlayout.hardware.tables.arch import FEATURES


def tune_all(products, seconds, say):
    """Measures some Asked for about so many seconds each, and keeps the best of each. Says a line per configuration.

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
    done = 0
    try:
        for one in wanted:
            measure.tune(cuda, 0, one, seconds, say)
            done += 1
    except KeyboardInterrupt:
        if len(wanted) > 1:
            say(f"{done} of {len(wanted)} products were measured whole")
        raise


def list_kept(say):
    """Says what is kept, a line per product under each GPU."""
    places = {}
    for _, found in kept.all_kept():
        places.setdefault(found.place, []).append(found)
    for place, all_found in places.items():
        say(f"{place}")
        for found in sorted(all_found, key=lambda f: (f.wanted.K * f.wanted.M * f.wanted.N, str(f.wanted))):
            say(f"  {found.wanted}: {found.result}, {found.date}: {described(found.config)}")
    if not places:
        say("nothing is kept: `simlayout tune M N K` measures a product")


def forget(sizes, say):
    """Deletes what is kept of products of some sizes (M, N, K), also of their transposes, or with None all of it."""
    say(f"{kept.forget(sizes)} deleted")

"""Kernels compiled ahead: all that a run needs at once, in several processes, into the cache on disk."""

import os

from cuda_kernels.build import cache
from simlayout.progress import progress
from simlayout.workers import workers


def compile_ahead(programs, driver=0, executor=None):
    """Compiles what the cache lacks of some programs (as of `cache.compiled`); returns how many. It says on stderr how far
    it is.

    driver: the driver's version number; executor: of concurrent.futures, by default a process per CPU. A program alone is
    left to whoever launches it: a process takes longer to start than it saves. Interrupted, it compiles nothing further.
    """
    missing = [p for p in dict.fromkeys(programs) if not cache.holds(p, driver)]
    if len(missing) < 2:
        return 0
    with executor or workers(min(os.cpu_count() or 1, len(missing)), main=False) as pool:
        try:
            with progress("kernels compiled", stays=True) as moved:
                for done, _ in enumerate(pool.map(_compile, missing, [driver] * len(missing)), 1):
                    moved(done, len(missing))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return len(missing)


def _compile(program, driver):
    cache.compiled(program, driver)

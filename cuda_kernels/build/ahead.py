"""Kernels compiled ahead: all that a run needs at once, in several processes, into the cache on disk."""

import os
from concurrent.futures import FIRST_COMPLETED, wait
from itertools import islice

from cuda_kernels.build import cache
from simlayout.progress import progress
from simlayout.workers import workers


def compile_ahead(programs, driver=0, executor=None):
    """Compiles what the cache lacks of some programs (as of `cache.compiled`); returns how many. It says on stderr how far
    it is.

    driver: the driver's version number; executor: of concurrent.futures, by default a process per CPU. A program alone is
    left to whoever launches it: a process takes longer to start than it saves. Interrupted, it begins nothing further, and
    what is being compiled is kept, too.
    """
    missing = [p for p in dict.fromkeys(programs) if not cache.holds(p, driver)]
    if len(missing) < 2:
        return 0
    at_once = min(os.cpu_count() or 1, len(missing))
    with executor or workers(at_once, main=False) as pool:
        try:
            with progress("kernels compiled", stays=True) as moved:
                for done, _ in enumerate(_each(pool, at_once, missing, driver), 1):
                    moved(done, len(missing))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return len(missing)


def _each(pool, at_once, programs, driver):
    """Compiles so many programs at a time, and yields after each. A pool of processes that is given all of them takes more
    than it works on, and compiles those whatever happens."""
    left = iter(programs)
    at_work = {pool.submit(_compile, program, driver) for program in islice(left, at_once)}
    while at_work:
        done, at_work = wait(at_work, return_when=FIRST_COMPLETED)
        for compiled in done:
            compiled.result()
            yield
        at_work |= {pool.submit(_compile, program, driver) for program in islice(left, len(done))}


def _compile(program, driver):
    cache.compiled(program, driver)

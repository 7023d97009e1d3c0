"""conform: the model against counters, of this machine's GPU or recorded. `cuda_kernels` is imported when it is called."""

from simlayout.cli.text import field
from simlayout.errors import SimlayoutError
from simlayout.files import write_whole
from simlayout.hardware.records import check_file, summaries_text


def conform(options):
    """`simlayout conform`: exit code 1 if anything was counted that the model does not say."""
    if options.check:
        return _check(options)
    from cuda_kernels.conformance import suite

    return suite.conform(options)


def _check(options):
    """Recorded files against today's model; no GPU takes part."""
    from cuda_kernels.conformance.suite import table

    for name, given in (("an instruction", options.instructions), ("--record", options.record), ("--clock", options.clock)):
        if given:
            raise SimlayoutError(f"--check compares whole files as they are: leave out {name}")
    summaries, wrong = [], False
    for path in options.check:
        summary, checked = check_file(path)
        print(f"{field('file', path)}\n{field('cases', summary)}\n\n{table(checked)}\n")
        summaries.append(summary)
        wrong |= any(c.wrong.any() for c in checked)
    if options.json:
        write_whole(options.json, summaries_text(summaries))
    return int(wrong)

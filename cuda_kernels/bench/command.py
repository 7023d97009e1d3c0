"""What the commands `python -m MODULE` that measure or compare have alike: their parser, the head of a record, their end."""

import sys
from argparse import ArgumentParser, ArgumentTypeError

from simlayout.errors import DeviceError, SimlayoutError
from simlayout.files import check_writable


def parser_of(module, doc):
    """The ArgumentParser of `python -m module`, without options: it says the first paragraph of the module's doc.

    >>> parser_of("cuda_kernels.lab.rates", "Clocks.\\n\\nMore of them.").format_usage()
    'usage: python -m cuda_kernels.lab.rates [-h]\\n'
    """
    return ArgumentParser(prog=f"python -m {module}", description=doc.split("\n\n")[0])


def recording_parser_of(module, doc, required=False):
    """As `parser_of`, with --json: the name of a file that can be written. required: whether it must be given; else it may
    be None."""
    parser = parser_of(module, doc)
    parser.add_argument("--json", metavar="FILE", type=_writable, required=required, help="write what was found to it")
    return parser


def _writable(path):
    try:
        check_writable(path)
    except SimlayoutError as error:
        raise ArgumentTypeError(str(error)) from None
    return path


def where_and_when(module, arguments):
    """What every record of a GPU starts with: device, driver, date, command, versions. module: of `python -m`; arguments:
    what its `main` was given, None for those of the process."""
    from datetime import date
    from importlib.metadata import version

    from cuda_kernels.run.device import device_name

    command = f"python -m {module} " + " ".join(arguments if arguments is not None else sys.argv[1:])
    return {"device": device_name(), "driver": driver_version(), "date": date.today().isoformat(), "command": command,
            "versions": {name: version(name) for name in ("numba", "numba-cuda", "numpy")}}


def driver_version():
    """The driver's version as nvidia-smi prints it. Raises DeviceError where it does not answer."""
    import subprocess

    try:
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        raise DeviceError(f"nvidia-smi does not answer: {error}") from None


def ended_by(main):
    """Ends the process of `python -m` with the status that `main` returns: 0 or None if all is right, 1 if something is not.
    Where it raises a SimlayoutError, with a line that says so, and status 2; where it is interrupted, likewise with 130."""
    def ends(status, said):
        print(f"python -m {sys.modules['__main__'].__spec__.name.removesuffix('.__main__')}: {said}", file=sys.stderr)
        sys.exit(status)

    try:
        sys.exit(main())
    except SimlayoutError as error:
        ends(2, error)
    except KeyboardInterrupt:
        ends(130, "interrupted")

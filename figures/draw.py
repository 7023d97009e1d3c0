"""Draws the gallery, as SVG and PNG beside this file, and writes its page: `python figures/draw.py [NAME ...]`.

README.md shows every picture under the sentence that it says. `gallery.json` keeps a digest of the data of every picture; a
test computes them anew and fails where a picture is out of date. `--times` prints what each picture took, in seconds: its
data, its drawing and the PNG, then the SVG.
"""

import argparse
import json
import sys
from pathlib import Path
from time import perf_counter

import matplotlib

matplotlib.use("agg")

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import gallery_measured  # noqa: E402 (after the choice of backend, and from this folder)
import gallery_model  # noqa: E402
import gallery_seeds  # noqa: E402
from picture import digest  # noqa: E402

from simlayout.files import write_whole  # noqa: E402
from simlayout.plots import close, save  # noqa: E402
from simlayout.wording import meant  # noqa: E402

PICTURES = {p.name: p for module in (gallery_model, gallery_seeds, gallery_measured) for p in module.PICTURES}
"""All pictures by name."""

ROOMS = {"The model": gallery_model, "The tutorials, drawn anew": gallery_seeds, "Measured": gallery_measured}
"""The headings of the page, and whose pictures stand under them."""

DIGESTS = HERE / "gallery.json"
PAGE = HERE / "README.md"


def page():
    """The text of the page: every picture and its sentence."""
    lines = ["# All figures", "", "Each with the sentence that it says. This page and the pictures are written by "
             "`python figures/draw.py`.", ""]
    for heading, module in ROOMS.items():
        lines += [f"## {heading}", ""]
        for picture in module.PICTURES:
            lines += [f"**{picture.name}**: {picture.says}.", "", f"![{picture.says}]({picture.name}.png)", ""]
    return "\n".join(lines)


def drawn(picture, folder):
    """Writes a picture's two files; returns its digest, and the seconds of its data, of its drawing and PNG, of its SVG."""
    times = [perf_counter()]
    data = picture.data()
    times.append(perf_counter())
    axes = picture.draw(data, picture.says)
    save(axes, Path(folder) / f"{picture.name}.png")
    times.append(perf_counter())
    save(axes, Path(folder) / f"{picture.name}.svg")
    times.append(perf_counter())
    close(axes)
    return digest(data), [after - before for before, after in zip(times, times[1:])]


def main(names=(), folder=HERE, times=False):
    """Writes NAME.svg and NAME.png of the pictures named (all, if none is) and their digests."""
    found = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    found = {name: value for name, value in found.items() if name in PICTURES}
    for name in names or PICTURES:
        found[name], took = drawn(PICTURES[name], folder)
        if times:
            print(f"{name:28} {sum(took[:2]):.3f}  (data {took[0]:.3f}, drawing and PNG {took[1]:.3f}, SVG {took[2]:.3f})")
    write_whole(Path(folder) / PAGE.name, page())
    write_whole(Path(folder) / DIGESTS.name, json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    def known(name):
        if name not in PICTURES:
            raise argparse.ArgumentTypeError(f"there is no picture {name!r}{meant(name, PICTURES)}")
        return name

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", type=known, metavar="NAME", help=f"of {', '.join(PICTURES)}")
    parser.add_argument("--times", action="store_true", help="print what each picture took")
    options = parser.parse_args()
    main(options.names, times=options.times)

"""Numbers with their words, and words that were nearly right."""

from difflib import get_close_matches


def counted(number, what):
    """The number and the word, in its plural but for 1.

    >>> counted(1, "wavefront"), counted(8, "wavefront"), counted(2, "launch"), counted(0, "class")
    ('1 wavefront', '8 wavefronts', '2 launches', '0 classes')
    """
    return f"{number} {what if number == 1 else plural(what)}"


def plural(what):
    """The plural of a word.

    >>> plural("wavefront"), plural("pass")
    ('wavefronts', 'passes')
    """
    return what + ("es" if what.endswith(("ch", "ss")) else "s")


def meant(word, known):
    """What was probably meant by a word that is not among the known ones, for an error; "" where none is near.

    >>> meant("mma_permute", ["mma_base", "mma_permuted"]), meant("x", ["mma_base"])
    (' (did you mean mma_permuted?)', '')
    """
    near = nearest(word, known)
    return f" (did you mean {near[0]}?)" if near else ""


def nearest(word, known, most=1, cutoff=0.6):
    """The known words that are nearest to one, the nearest first, whether letters are small or capital: `most` of them at
    most, and none that is alike by less than `cutoff`, from 0 to 1.

    >>> nearest("LDMATRIX.X5", ["ldmatrix.x1", "ldmatrix.x4.trans", "lds"], 2), nearest("nt", ["NN", "NT"])
    (['ldmatrix.x1', 'ldmatrix.x4.trans'], ['NT'])
    """
    spelled = {}
    for each in map(str, known):
        spelled.setdefault(each.lower(), each)
    return [spelled[found] for found in get_close_matches(str(word).lower(), spelled, most, cutoff)]


def are(number):
    """The verb behind a number of things.

    >>> are(1), are(2)
    ('is', 'are')
    """
    return "is" if number == 1 else "are"


def by(size):
    """A size along several axes.

    >>> by((4, 2, 1))
    '4 x 2 x 1'
    """
    return " x ".join(map(str, size))


def ranges(numbers):
    """Ascending numbers as their runs.

    >>> ranges([0, 1, 2, 5])
    '0-2, 5'
    """
    runs = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def tile_name(tile):
    """A tile in a title or an error: a layout's text, or the name of a function, without Python's address of it.

    >>> tile_name("(8,8):(8,1)"), tile_name(tile_name), tile_name(lambda row, col: 8*row + col)
    ('(8,8):(8,1)', 'tile_name', 'a function')
    """
    text = str(tile)
    if not text.startswith("<"):
        return text
    name = getattr(tile, "__name__", "")
    return name if name.isidentifier() else "a function"

"""Numbers with their words."""


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

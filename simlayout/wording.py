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

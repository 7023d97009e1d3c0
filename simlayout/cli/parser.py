"""The parser of a command line: complaints of one line, help that teaches by example, and commands that cost nothing before
they are asked for."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from textwrap import dedent

from simlayout.cli.options import names_file
from simlayout.cli.text import one_line
from simlayout.files import STDIO
from simlayout.wording import meant


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose complaints are one line, and whose `--json` takes the next word only if that is a file."""

    def __init__(self, *given, **named):
        super().__init__(*given, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **named)

    def teach(self, examples: str, notes: str = "") -> None:
        """Ends the help with examples, a line each, and notes."""
        shown = "\n".join(f"  {line}" for line in dedent(examples).strip().splitlines())
        self.epilog = f"examples:\n{shown}\n{dedent(notes).rstrip()}"

    def answer(self, run: Callable, examples: str, notes: str = "") -> None:
        """Makes this the parser of a command. run(options) gives its exit code."""
        self.teach(examples, notes)
        self.set_defaults(run=run, parser=self)

    def parse_known_args(self, args=None, namespace=None):
        """As argparse does."""
        words, given = program_words(list(sys.argv[1:] if args is None else args))
        end = words.index("--") if "--" in words else len(words)
        for i in range(end):
            if words[i] == "--json" and i + 1 < len(words) and not names_file(words[i + 1]):
                words[i] = f"--json={STDIO}"
        options, unknown = super().parse_known_args(words, namespace)
        if given is not None:
            options.arguments = given
        return options, unknown

    def _check_value(self, action, value):
        """Raises ArgumentError for a value that is not among the choices, and suggests the nearest one."""
        if action.choices is None or value in action.choices:
            return
        hint = meant(value, action.choices) or f" (choose from {', '.join(map(str, action.choices))})"
        raise argparse.ArgumentError(action, f"invalid choice: {value!r}{hint}")

    def parse_args(self, args=None, namespace=None):
        """As argparse does; the error for an unknown option suggests the nearest one."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            known = options.parser if hasattr(options, "parser") else self
            hint = meant(unknown[0].split("=")[0], known._option_string_actions)
            words = list(sys.argv[1:] if args is None else args)
            if ("--json", unknown[0]) in zip(words, words[1:]):
                known.error(f"--json {unknown[0]}: name a file that ends in .json, or leave it out")
            if unknown[0].split("=")[0] in ("-o", "--output") and "--to" not in known._option_string_actions:
                hint = ": what it prints goes to a file by > FILE"
            if hasattr(options, "op") and not unknown[0].startswith("-"):
                hint = "; quote the LAYOUT for the shell" + ("" if isinstance(options.op, list) else ", and give one --op")
            known.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return options

    def _print_message(self, message, file=None):
        """Help that cannot be written is an error here; argparse ignores it."""
        if file is sys.stdout:
            file.write(message)
        else:
            super()._print_message(message, file)

    def error(self, message):
        """Exit code 2 and one line on stderr."""
        self.exit(2, f"simlayout: {one_line(message)} (see {self.prog} --help)\n")


def program_words(words: list[str]) -> tuple[list[str], list[str] | None]:
    """A command line as (what is simlayout's, the arguments of the program that it runs): all after the program's path, or
    its name behind -m. None where it runs no program.

    >>> program_words(["run", "--quiet", "a.py", "--size", "4"])
    (['run', '--quiet', 'a.py'], ['--size', '4'])
    >>> program_words(["run", "-m", "package.module", "--size", "4"])
    (['run', '-m', 'package.module'], ['--size', '4'])
    >>> program_words(["run", "a.ptx", "--grid", "4"])
    (['run', 'a.ptx', '--grid', '4'], None)
    """
    at = next((i for i, (before, word) in enumerate(zip(["", *words], words))
               if before == "-m" or word.lower().endswith(".py") and not word.startswith("-")), None)
    if words[:1] != ["run"] or at is None:
        return words, None
    return words[:at + 1], words[at + 1:]


class Commands(argparse._SubParsersAction):
    """The commands of a Parser (`action` of add_subparsers), of which each gets its parser when it is asked for: nothing of
    the other commands is imported."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self._made = self.choices = self._name_parser_map = _Made()      # type: ignore[assignment]

    def add(self, name: str, summary: str, describe: Callable[[Parser], None]) -> None:
        """One more. describe: gives its parser what it answers and takes."""
        def made():
            purpose = f"{summary[0].upper()}{summary[1:]}."
            parser = self._parser_class(prog=f"{self._prog_prefix} {name}", description=purpose)
            describe(parser)
            return parser

        self._choices_actions.append(self._ChoicesPseudoAction(name, (), summary))
        self._made.makers[name] = made


class _Made(Mapping):
    """{name: parser}, each made once."""

    def __init__(self):
        self.makers, self._parsers = {}, {}

    def __getitem__(self, name):
        if name not in self._parsers:
            self._parsers[name] = self.makers[name]()
        return self._parsers[name]

    def __contains__(self, name) -> bool:
        return name in self.makers

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)

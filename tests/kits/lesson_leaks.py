"""Whether a text gives away a right answer to an exercise."""

import ast
import inspect
import re
from functools import lru_cache
from pathlib import Path

import lesson_answers
from lesson_answers import RIGHT

import simlayout as sl


def leaked(code, text, exercises):
    """The right answers to some exercises that stand in code, as it is or as Python would write it, or in a text."""
    seen = "".join(re.sub(r"\s", "", part) for part in (code, ast.unparse(ast.parse(code)), text))
    return [form for exercise in exercises for form in answer_forms()[exercise] if re.sub(r"\s", "", form) in seen]


@lru_cache(None)
def answer_forms():
    """{exercise: [an answer as Python or the notation writes it]}; not of what is a number alone."""
    tree = ast.parse(Path(lesson_answers.__file__).read_text())
    table, = (node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "RIGHT")
    forms = {}
    for key, answers in zip(table.keys, table.values, strict=True):
        forms[key.value] = found = []
        for node, answer in zip(answers.elts, RIGHT[key.value], strict=True):
            if isinstance(node, ast.Name):
                found.append(ast.unparse(ast.parse(inspect.getsource(answer)).body[0].body))
            elif isinstance(answer, str):
                found.append(answer)
            elif not isinstance(answer, int):
                found.append(ast.unparse(node.body if isinstance(node, ast.Lambda) else node).removeprefix("sl."))
            if isinstance(answer, (sl.Swizzle, sl.Rotation, sl.Layout, sl.Composed)):
                found.append(str(answer))
    return forms

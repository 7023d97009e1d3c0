"""Statements of a kernel, rewritten so that lanes can part: `if`, loops, and jumps out of them.

    if c: A else: B         the template `_IF`
    while c, for x in e     the template `_LOOP`, and `_MEET`, `_ELSE`, `_AFTER` where edges meet
    a[i] = x                __warp.put(a, i, x)
    break, continue         if loop.breaks(): break     Python's own jump where all lanes of the trip take it
    return x                if returns.gives(x): return x     likewise, in a function that returns inside an `if` or a loop
    what follows one of     if __warp.count: ...        where lanes may have jumped over it
    any statement           __warp.executed[file, line] += 1, and the statement
"""

import ast

from simlayout.machine.python.syntax import WARP_NAME, assigned, jumps, method_call, parsed, place, warp_call

_IF = """
{branch} = __warp.branch(TEST, {names})
if {branch}:
    if {branch} is not True:
        {branch}.then(locals())
    THEN
if {branch} is not True:
    if {branch}:
        [{targets}] = {branch}.otherwise(locals())
    ELSE
    if {branch}:
        [{targets}] = {branch}.merge(locals())
"""
"""An `if`. `branch` returns True or False where all lanes agree, and the arm is simply taken. Otherwise it returns a
Branch: both arms run, each under its mask, each from the same values of the names that either of them assigns."""

_LOOP = "{loop} = __warp.loop({names})"
"""A loop. `loop` returns a Loop, which decides who goes on: `while loop.test(c)`, `for x in loop.over(e)`."""

_MEET = """
if {loop}.skipped:
    [{targets}] = {loop}.meet()
"""
"""At the end of a loop's body: who skipped the rest of it comes back, with the values that the names had there."""

_ELSE = """
if {loop}.finished:
    [{targets}] = {loop}.complete()
if __warp.count:
    pass
"""

_AFTER = """
if {loop}.diverged:
    [{targets}] = {loop}.end()
"""
"""After a loop: who left before others comes back."""

_MET = "if __warp.count: pass"


def _is_text(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


class Statements(ast.NodeTransformer):
    """Rewrites the statements of one function. Subclasses rewrite expressions."""

    def __init__(self, filename):
        self.filename = filename
        self.count = 0
        self.loops = []                                  # names of the enclosing loops, innermost last
        self.returns = None                              # the name of the function's Returns, if it needs one

    def fresh(self, kind):
        """A name that no kernel has."""
        self.count += 1
        return f"__{kind}_{self.count}"

    def kernel(self, node):
        """Rewrites a FunctionDef in place: the hidden parameter, no decorators, no defaults (they are bound again)."""
        spec = node.args
        (spec.posonlyargs or spec.args).insert(0, ast.arg(WARP_NAME))
        for parameter in ast.walk(spec):
            if isinstance(parameter, ast.arg):
                parameter.annotation = None
        spec.defaults, spec.kw_defaults = [], [None] * len(spec.kwonlyargs)
        node.decorator_list, node.returns = [], None
        early = any(jumps([s], (ast.Return,)) for s in node.body if not isinstance(s, ast.Return))
        if not early:
            node.body = self.block(node.body, None)
            return
        self.returns = self.fresh("returns")
        node.body = [*parsed(f"{self.returns} = __warp.returns()", node), *self.block(node.body, None),
                     *parsed(f"return {self.returns}.result()", node.body[-1])]

    def block(self, statements, line):
        """Rewrites statements and puts a count before each; `line` is that of the statement around them. What follows a
        statement that some lanes may jump out of is executed if any lanes are left; what follows a jump is never."""
        body = []
        for i, statement in enumerate(statements):
            if statement.lineno != line and not _is_text(statement):
                body.append(self._counted(statement))
            line = statement.lineno
            new = self.visit(statement)
            body.extend(new if isinstance(new, list) else [new])
            if jumps([statement]):
                rest = statements[i + 1:]
                if rest and not isinstance(statement, ast.Break | ast.Continue | ast.Return):
                    [guard] = parsed(_MET, statement)
                    guard.body = self.block(rest, line)
                    body.append(guard)
                break
        return body

    def _counted(self, statement):
        """The statement `__warp.executed[filename, line] += 1`, at the place of a statement."""
        executed = ast.Attribute(ast.Name(WARP_NAME, ast.Load()), "executed", ast.Load())
        target = ast.Subscript(executed, ast.Constant((self.filename, statement.lineno)), ast.Store())
        return place(ast.AugAssign(target, ast.Add(), ast.Constant(1)), statement)

    def visit_Assign(self, node):
        """Elements are put lane by lane."""
        return self.stored(self.generic_visit(node))

    def stored(self, node):
        """A rewritten Assign, as statements: what goes into elements does so through a name."""
        puts = []

        def named(target):
            if isinstance(target, ast.Subscript):
                name = self.fresh("value")
                put = warp_call("put", target.value, target.slice, ast.Name(name, ast.Load()), at=target)
                puts.append(place(ast.Expr(put), target))
                return ast.copy_location(ast.Name(name, ast.Store()), target)
            if isinstance(target, ast.Tuple | ast.List):
                target.elts = [named(t) for t in target.elts]
            return target

        node.targets = [named(t) for t in node.targets]
        return [node, *puts]

    def visit_If(self, node):
        """See `_IF`."""
        names = assigned(node.body + node.orelse)
        branch = self.fresh("branch")
        test = self.visit(node.test)
        template = parsed(_IF.format(branch=branch, names=names, targets=", ".join(names)), node)
        decide, then, otherwise = template
        decide.value.args[0] = test
        then.body[1:] = self.block(node.body, node.lineno)
        otherwise.body[1:2] = self.block(node.orelse, node.lineno)
        return template

    def visit_For(self, node):
        """See `_LOOP`."""
        method = "over_while_any" if self._jumps(node) else "over"
        return self._loop(node, assigned([node]), "iter", lambda loop, at: method_call(loop, method, at, at=at))

    def visit_While(self, node):
        """See `_LOOP`."""

        def test(loop, condition):
            call = method_call(loop, "test", condition, at=condition)
            if not self._jumps(node):
                return call
            anyone = place(ast.Attribute(ast.Name(WARP_NAME, ast.Load()), "count", ast.Load()), condition)
            return place(ast.BoolOp(ast.And(), [anyone, call]), condition)

        return self._loop(node, assigned([node]), "test", test)

    @staticmethod
    def _jumps(loop):
        return jumps(loop.body)

    def _loop(self, node, names, head, rewritten):
        """A loop: its head (`iter` or `test`) as `rewritten(name of the Loop, expression)` makes it; where edges meet."""
        loop = self.fresh("loop")
        has = {"loop": loop, "names": names, "targets": ", ".join(names)}
        entered = parsed(_LOOP.format(**has), node)
        parted = self._jumps(node)
        setattr(node, head, rewritten(loop, self.visit(getattr(node, head))))
        self.loops.append(loop)
        node.body = self.block(node.body, node.lineno)
        if parted:
            node.body += parsed(_MEET.format(**has), node)
        self.loops.pop()
        if node.orelse:
            *complete, guard = parsed(_ELSE.format(**has), node)
            guard.body = self.block(node.orelse, node.lineno)
            node.orelse = [*complete, guard]
        return [*entered, node, *parsed(_AFTER.format(**has), node)]

    def visit_Break(self, node):
        """See `Loop.breaks`."""
        return self._jump(node, self.loops[-1], "breaks")

    def visit_Continue(self, node):
        """See `Loop.skips`."""
        return self._jump(node, self.loops[-1], "skips")

    @staticmethod
    def _jump(node, loop, method):
        return place(ast.If(method_call(loop, method, at=node), [node], []), node)

    def visit_Return(self, node):
        """See `Returns.gives`."""
        node = self.generic_visit(node)
        if self.returns is None:
            return node
        value = self.fresh("value")
        given = place(ast.Name(value, ast.Store()), node)
        kept = place(ast.Assign([given], node.value or ast.Constant(None)), node)
        used = ast.Name(value, ast.Load())
        leave = ast.copy_location(ast.Return(place(ast.Name(value, ast.Load()), node)), node)
        return [kept, place(ast.If(method_call(self.returns, "gives", used, at=node), [leave], []), node)]

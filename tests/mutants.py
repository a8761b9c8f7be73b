"""Would a test notice? Make small mistakes in the code, one at a time, and run its tests.

    python -m tests.mutants                                            # 5 a module
    python -m tests.mutants replay/distribution agents/ppo --count 20  # more of some

A mutant is the code with one small mistake: a comparison turned, an operation or its operands
exchanged, a number changed, a condition denied, `max` for `min`. It is killed if a test fails.
What is drawn depends on the seed and the code alone, and what an earlier call has written to the
same file is not judged again, so the same command goes on where it was stopped. Survivors are for
a person to look at: some are the same program, others want a test.
"""

import argparse
import ast
import csv
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dred"

TESTS = {
    "replay": ("tests/replay", "tests/training/test_update.py"),
    "agents": ("tests/agents", "tests/training/test_update.py"),
}
FIRST = {  # the tests of what has no file of its own name, which mostly notice
    "replay/admission": ("tests/replay/test_buffer.py",),
    "agents/advantage": ("tests/agents/test_ppo.py",),
    "agents/categorical": ("tests/agents/test_ppo.py",),
    "agents/choices": ("tests/agents/test_ppo.py",),
    "agents/episodes": ("tests/agents/test_information.py",),
    "agents/network": ("tests/agents/test_memory.py",),
    "agents/optimise": ("tests/agents/test_ppo.py",),
    "agents/probe": ("tests/agents/test_information.py",),
    "agents/rollout": ("tests/agents/test_ppo.py",),
}
LONGEST = 600  # seconds, for the tests of a mutant: what takes longer has lost its way

COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
}
OPERATED: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "+",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.Pow: "*",
}
RENAMED = {
    "max": "min",
    "min": "max",
    "maximum": "minimum",
    "minimum": "maximum",
    "argmax": "argmin",
    "argmin": "argmax",
    "any": "all",
    "all": "any",
    "mean": "sum",
    "sum": "mean",
    "zeros": "ones",
    "ones": "zeros",
    "zeros_like": "ones_like",
    "ones_like": "zeros_like",
    "floor": "ceil",
    "log": "exp",
    "exp": "log",
    "square": "abs",
    "abs": "square",
    "tanh": "sin",
}
EITHER_WAY = ("maximum", "minimum", "max", "min", "logical_and", "logical_or", "dot")
NOT_LOGIC = (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Mutant:
    """One small mistake."""

    module: str
    line: int
    before: str  # the line as it is
    after: str


@dataclass(frozen=True)
class Edit:
    """What stands between two places of a file, and what to write instead."""

    start: int
    end: int
    text: str


class Text:
    """A file as bytes, which is how Python's parser counts columns."""

    def __init__(self, text: str) -> None:
        self.bytes = text.encode()
        self.lines = [0]
        for line in text.encode().splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node begins and ends."""
        start = self.lines[node.lineno - 1] + node.col_offset
        return start, self.lines[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.AST) -> str:
        """What stands at a node."""
        start, end = self.span(node)
        return self.bytes[start:end].decode()

    def edited(self, edit: Edit) -> str:
        """The file with an edit."""
        return (self.bytes[: edit.start] + edit.text.encode() + self.bytes[edit.end :]).decode()


def logic(node: ast.AST) -> Iterator[ast.AST]:
    """What a function computes: no annotations, docstrings, errors or logs."""
    if isinstance(node, NOT_LOGIC):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from logic(child)


def edits_of(node: ast.AST, text: Text) -> Iterator[Edit]:
    """The small mistakes that can be made at a node."""
    start, end = text.span(node) if hasattr(node, "lineno") else (0, 0)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
        left, right = text.of(node.left), text.of(node.comparators[0])
        yield Edit(start, end, f"{left} {COMPARED[type(node.ops[0])]} {right}")
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATED:
        left, right = text.of(node.left), text.of(node.right)
        if "(" + left + ")" in text.of(node):
            left = f"({left})"
        if "(" + right + ")" in text.of(node):
            right = f"({right})"
        yield Edit(start, end, f"({left} {OPERATED[type(node.op)]} {right})")
        yield Edit(start, end, left)
        if not isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr):
            yield Edit(start, end, f"({right} {symbol_of(node, text)} {left})")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not | ast.Invert):
        yield Edit(start, end, text.of(node.operand))
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        for other in (node.value + 1, node.value * 2):
            if other != node.value:
                yield Edit(start, end, repr(other))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield Edit(start, end, repr(not node.value))
    elif isinstance(node, ast.If | ast.IfExp):
        a, b = text.span(node.test)
        yield Edit(a, b, f"(not ({text.of(node.test)}))")
    elif isinstance(node, ast.BoolOp):
        joint = " or " if isinstance(node.op, ast.And) else " and "
        yield Edit(start, end, joint.join(f"({text.of(one)})" for one in node.values))
    elif isinstance(node, ast.Call):
        yield from edits_of_call(node, text)


def symbol_of(node: ast.BinOp, text: Text) -> str:
    """The sign of an operation, as it is written."""
    between = text.bytes[text.span(node.left)[1] : text.span(node.right)[0]].decode()
    return between.strip(" ()\n")


def edits_of_call(node: ast.Call, text: Text) -> Iterator[Edit]:
    """Another function of the same kind, and two arguments in the other order."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else text.of(function)
    if name in RENAMED:
        _, end = text.span(function)
        yield Edit(end - len(name.encode()), end, RENAMED[name])
    first = 1 if name == "where" else 0
    if len(node.args) >= first + 2 and name not in EITHER_WAY:
        one, other = node.args[first : first + 2]
        (a, b), (c, d) = text.span(one), text.span(other)
        between = text.bytes[b:c].decode()
        if text.of(one) != text.of(other):
            yield Edit(a, d, text.of(other) + between + text.of(one))


def mutants_of(module: str) -> list[tuple[Mutant, str]]:
    """All mutants of a module, and the code of each."""
    source = (SOURCE / f"{module}.py").read_text(encoding="utf-8")
    text, found = Text(source), {}
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        for statement in function.body:
            for node in logic(statement):
                for edit in edits_of(node, text):
                    code = text.edited(edit)
                    line = text.bytes[: edit.start].count(b"\n") + 1
                    if code != source and parses(code):
                        before = source.splitlines()[line - 1].strip()
                        after = code.splitlines()[line - 1].strip()
                        found[code] = Mutant(module, line, before, after)
    return [(mutant, code) for code, mutant in found.items()]


def parses(code: str) -> bool:
    """Whether it is Python at all."""
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


def tests_of(module: str) -> list[str]:
    """The tests that should notice, the likeliest first."""
    folder, name = module.split("/")
    own = f"tests/{folder}/test_{name}.py"
    first = [*([own] if (ROOT / own).exists() else []), *FIRST.get(module, ())]
    rest = [
        str(path.relative_to(ROOT))
        for said in TESTS[folder]
        for path in (
            sorted((ROOT / said).glob("test_*.py")) if (ROOT / said).is_dir() else [ROOT / said]
        )
    ]
    return list(dict.fromkeys([*first, *rest]))


def judged(mutant: Mutant, code: str, examples: int) -> str:
    """Run the tests of a mutant in a process of its own, which has the libraries already."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        shutil.copytree(SOURCE, Path(folder) / "dred", ignore=shutil.ignore_patterns("__pycache__"))
        (Path(folder) / "dred" / f"{mutant.module}.py").write_text(code, encoding="utf-8")
        child = os.fork()
        if child == 0:
            os.setsid()
            os._exit(run_tests(folder, tests_of(mutant.module), examples))
        until = time.monotonic() + LONGEST
        while time.monotonic() < until:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                return {0: "survived", 1: "killed"}.get(code, f"killed (exit {code})")
            time.sleep(0.05)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "killed (too slow)"


def run_tests(folder: str, tests: list[str], examples: int) -> int:
    """Run tests of the code in a folder until the first that fails; pytest's exit code."""
    import pytest
    from hypothesis import settings

    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    sys.path.insert(0, folder)
    os.chdir(ROOT)

    class FewExamples:
        """Fewer examples for each property, once tests/conftest.py has said how many."""

        @staticmethod
        def pytest_collection_modifyitems() -> None:
            settings.register_profile("mutants", settings(), max_examples=examples)
            settings.load_profile("mutants")

    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not long"]
    return int(pytest.main([*options, *tests], plugins=[FewExamples()]))


def modules() -> list[str]:
    """What is in replay and agents."""
    return [
        f"{folder}/{path.stem}"
        for folder in TESTS
        for path in sorted((SOURCE / folder).glob("*.py"))
        if path.name != "__init__.py"
    ]


def read(file: Path) -> dict[Mutant, str]:
    """The verdicts so far."""
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as rows:
        found = list(csv.DictReader(rows))
    for row in found:
        row["line"] = int(row["line"])
    return {
        Mutant(**{f.name: row[f.name] for f in fields(Mutant)}): row["verdict"] for row in found
    }


def main() -> None:
    """Draw mutants, judge them one after the other, and count."""
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("modules", nargs="*", help="such as replay/buffer; all of replay and agents")
    words.add_argument("--count", type=int, default=5, help="mutants of each module")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--examples", type=int, default=10, help="examples for each property")
    words.add_argument("--out", type=Path, default=Path("mutants.csv"))
    asked = words.parse_args()
    for name in ("jax", "equinox", "optax", "scipy.stats", "hypothesis", "pytest", "matplotlib"):
        __import__(name)  # once, for all that are judged; dred is not, as each has its own
    known = read(asked.out)
    for module in asked.modules or modules():
        every = sorted(mutants_of(module), key=lambda one: (one[0].line, one[1]))
        drawn = random.Random(f"{asked.seed} {module}").sample(every, min(asked.count, len(every)))
        for mutant, code in drawn:
            if mutant in known:
                continue
            began = time.monotonic()
            known[mutant] = judged(mutant, code, asked.examples)
            is_new = not asked.out.exists()
            with asked.out.open("a", encoding="utf-8", newline="") as file:
                rows = csv.DictWriter(file, [*(f.name for f in fields(Mutant)), "verdict"])
                if is_new:
                    rows.writeheader()
                rows.writerow({**asdict(mutant), "verdict": known[mutant]})
            took = time.monotonic() - began
            print(
                f"{known[mutant]:10} {took:5.0f} s  {module}:{mutant.line}  {mutant.after}",
                flush=True,
            )
    survived = sum(verdict == "survived" for verdict in known.values())
    print(f"{len(known)} mutants, {len(known) - survived} killed, {survived} survived")


if __name__ == "__main__":
    main()

"""Pages of the site that are made from what the project has: help, settings, names, files."""

import ast
import contextlib
import html
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
WIDTH = "92"  # letters in a line of help
LANGUAGES = {".py": "python", ".toml": "toml", ".csv": "text"}
PUBLIC = ("dred", "dred.levels", "dred.envs", "dred.generators", "dred.replay", "dred.runs")
BOX_TITLE = re.compile(r"╭─ (.*?) ─*╮$")


def file_page(path: Path) -> str:
    """Return a page that shows a file of the repository as it is."""
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT).as_posix()
    language = LANGUAGES.get(path.suffix, "text")
    return f"# {path.name}\n\n`{name}`\n\n````{language}\n{text.rstrip()}\n````\n"


def commands_page() -> str:
    """Return a page with the help of every command, as its parser gives it."""
    from dred.cli import ABOUT, COMMANDS

    parts = [
        "# The command line\n",
        html.escape(ABOUT[""], quote=False) + "\n",
        "What follows is what `dred COMMAND --help` prints.\n",
    ]
    for words in all_commands(COMMANDS):
        parts.append(f"## dred {' '.join(words)}\n\n{as_markdown(help_of(words))}")
    return "\n".join(parts)


def all_commands(verbs: object, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command, in the order of the help."""
    if isinstance(verbs, dict):
        for name, verb in verbs.items():
            yield from all_commands(verb, (*words, name))
    else:
        yield words


def help_of(words: tuple[str, ...]) -> str:
    """Return what a command prints when it is asked for help."""
    from dred.cli import parse

    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")  # for which it draws boxes
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            parse([*words, "--help"])
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    printed.seek(0)
    return printed.read()


def as_markdown(text: str) -> str:
    """Return help as Markdown: usage and boxes as blocks, sentences as text."""
    about, _, boxes = text.partition("╭")
    usage, _, rest = about.strip().partition("\n\n")
    parts = [f"```text\n{usage}\n```\n"]
    for paragraph in re.split(r"\n\n+", rest.strip()):
        first, _, lines = paragraph.partition("\n")
        if lines and all(line.startswith("  ") for line in lines.splitlines()):
            block = "\n".join(line.strip() for line in lines.splitlines())
            parts.append(f"{html.escape(first, quote=False)}\n\n```sh\n{block}\n```\n")
        elif paragraph:
            parts.append(f"{html.escape(paragraph, quote=False)}\n")
    if boxes:
        parts.append(f"```text\n{without_boxes('╭' + boxes)}\n```\n")
    return "\n".join(parts)


def without_boxes(text: str) -> str:
    """Return what is in boxes that are drawn with lines, each under its title."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        title = BOX_TITLE.match(line)
        if title:
            lines += ["", f"{title[1]}:"] if lines else [f"{title[1]}:"]
        elif line.startswith("│"):
            lines.append(f" {line[1:-1].rstrip()}")
    return "\n".join(lines)


def settings_page() -> str:
    """Return a page with all settings of a run, each under its line of help."""
    from dred.assemble import assemble, config_text
    from dred.registry import find_method, find_task

    task = find_task("gridworld")
    text = config_text(assemble(find_method("vae-dred"), task, "laptop").config, task)
    parts = [
        "# Settings\n",
        "What `dred config vae-dred` prints: every setting of such a run with its line of help and "
        "its value in the preset `laptop`. [Settings, methods and plug-ins of your own]"
        "(../settings-and-plugins.md#settings) says how to change them; other methods, tasks and "
        "presets have others, which the same command prints.\n",
        "## The run\n",
    ]
    for piece in text.strip().split("\n\n"):
        table = re.search(r"^\[(.*)\]$", piece, re.M)
        parts += [f"## {table[1]}\n"] if table else []
        parts.append(f"```toml\n{piece.strip()}\n```\n")
    return "\n".join(parts)


def python_page() -> str:
    """Return a page with every public name of dred, for mkdocstrings to describe."""
    parts = ["# Python\n", "The names that `import dred` gives, from their docstrings.\n"]
    for module in PUBLIC:
        parts.append(f"## {module}\n")
        names = sorted(public_names(module).items(), key=lambda pair: pair[0].lower())
        constants = [f"`{name}`" for name, home in names if not home]
        if constants:
            parts.append(f"Constants: {', '.join(constants)}.\n")
        for name, home in names:
            heading = f"    options: {{heading: {module}.{name}, toc_label: {name}}}\n"
            parts += [f"::: {home}\n{heading}"] if home else []
    return "\n".join(parts)


def public_names(module: str) -> dict[str, str]:
    """Return the names that a module gives to others, with the place that describes each.

    These are those it imports as themselves (`from x import y as y`) and, where it says so, all
    of another module's; or its own, if it imports none for others. Constants have no such place.
    """
    tree = tree_of(module)
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if alias.name == "*":
                    found |= public_names(node.module)
                elif alias.asname == alias.name and not is_module(node.module, alias.name):
                    found[alias.name] = described_at(alias.name, node.module)
    own = (name for name in described_in(tree) if not name.startswith("_"))
    return found or {name: f"{module}.{name}" for name in own}


def described_at(name: str, module: str) -> str:
    """Return the place of a function's or class's docstring, also of `name = x`; or nothing."""
    tree = tree_of(module)
    other: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and any(alias.asname == name for alias in node.names):
            return described_at(name, node.module or "")
        if isinstance(node, ast.Assign):
            names, values = (
                ast.unparse(part).strip("()") for part in (node.targets[0], node.value)
            )
            other |= dict(zip(names.split(", "), values.split(", "), strict=False))
    called = other.get(name, name)
    return f"{module}.{called}" if called in described_in(tree) else ""


def described_in(tree: ast.Module) -> list[str]:
    """Return the names of a module's functions and classes."""
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def tree_of(module: str) -> ast.Module:
    """Return the source of a module, parsed."""
    return ast.parse(file_of(module).read_text(encoding="utf-8"))


def file_of(module: str) -> Path:
    """Return the file of a module."""
    path = SOURCE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def is_module(package: str, name: str) -> bool:
    """Return whether a name in a package is a module of it."""
    return file_of(f"{package}.{name}").exists()

"""Draw which folder of dred imports which, for docs/architecture.md.

    python docs/import_graph.py        print the picture
    python docs/import_graph.py --write    put it into docs/architecture.md

An arrow A → B says that something in A imports something in B, also within functions, directly or
by way of the modules that lie beside the folders. Arrows that follow from others are left out.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "dred"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- import graph: begin -->\n", "<!-- import graph: end -->\n"

Graph = dict[str, set[str]]


def imports_of(path: Path) -> Iterator[str]:
    """Return the parts of dred that a file imports, also within functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "dred":
            yield from (part_of(("dred", alias.name)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dred."):
            yield part_of(tuple((node.module or "").split(".")))
        elif isinstance(node, ast.Import):
            names = (alias.name for alias in node.names if alias.name.startswith("dred."))
            yield from (part_of(tuple(name.split("."))) for name in names)


def part_of(names: tuple[str, ...]) -> str:
    """Return the part that a module is in: a folder, a task's folder, or a module beside them."""
    is_task = names[1] == "tasks" and len(names) > 2
    return "/".join(names[1:3]) if is_task else names[1]


def import_graph(source: Path = SOURCE) -> Graph:
    """Return which part imports which."""
    found: Graph = {}
    for path in sorted(source.rglob("*.py")):
        part = part_of(("dred", *path.relative_to(source).with_suffix("").parts))
        if part != "__init__":
            found.setdefault(part, set()).update(set(imports_of(path)) - {part, "__version__"})
    return found


def reachable(graph: Graph, start: str, through: set[str] | None = None) -> set[str]:
    """Return all that a part imports, step by step; on the way only `through`, if that is given."""
    seen: set[str] = set()
    waiting = list(graph.get(start, ()))
    while waiting:
        part = waiting.pop()
        if part not in seen:
            seen.add(part)
            if through is None or part in through:
                waiting += graph.get(part, ())
    return seen


def folder_graph(source: Path = SOURCE) -> Graph:
    """Return the graph of folders alone, without arrows that follow from others."""
    graph = import_graph(source)
    folders = {part for part in graph if (source / part).is_dir() and part != "tasks"}
    whole = {one: reachable(graph, one, set(graph) - folders) & folders - {one} for one in folders}
    return {
        one: {to for to in whole[one] if not any(to in reachable(whole, by) for by in whole[one])}
        for one in sorted(folders)
    }


def picture(source: Path = SOURCE) -> str:
    """Return the graph of folders as a Mermaid diagram."""
    lines = ["```mermaid", "graph LR"]
    for one, others in folder_graph(source).items():
        lines += [f"    {one} --> {other}" for other in sorted(others)]
    return "\n".join([*lines, "```", ""])


def page_with(text: str) -> str:
    """Return the page with this picture in its place."""
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.index(BEGIN) + len(BEGIN), page.index(END)
    return page[:before] + text + page[after:]


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page_with(picture()), encoding="utf-8")
    else:
        print(picture(), end="")

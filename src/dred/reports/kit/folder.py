"""Reports on disk: a folder that is there as a whole or not at all."""

import os
import shutil
from collections.abc import Mapping, Set
from pathlib import Path

from dred.files import OutputError, cannot_write
from dred.reports.kit.drawing import Drawing
from dred.reports.kit.table import Table, to_csv, to_markdown

PAGE = "report.html"
PARTS = frozenset({PAGE, "tables", "figures", "episodes"})


def check_place(out: Path, *, page: str = PAGE, parts: Set[str] = PARTS) -> None:
    """Stop before any work if the report could not be written there without loss.

    A former report is known by its page, and by having no other parts than these.
    """
    for folder in (out, partial(out)):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise OutputError(
                f"{folder} is not a folder, so it is not replaced. Give another --out."
            )
        inside = {path.name for path in folder.iterdir()} if folder.exists() else set[str]()
        foreign = sorted(inside - parts)
        if foreign or (inside and folder == out and page not in inside):
            what = f"it holds {foreign[0]!r}" if foreign else f"it holds no {page}"
            raise OutputError(
                f"{folder} exists and is not just a former report: {what}. A report replaces only "
                "a former report. Give a folder that does not exist yet as --out."
            )


def partial(out: Path) -> Path:
    """Return where a report grows before it gets its name."""
    return out.with_name(f"{out.name}.partial")


def tables_and_figures(
    tables: Mapping[str, Table], figures: Mapping[str, Drawing]
) -> dict[str, bytes]:
    """Return tables as CSV and Markdown and figures as SVG, by the names of their files."""
    return {
        **{f"tables/{file_name(n)}.csv": to_csv(one).encode() for n, one in tables.items()},
        **{f"tables/{file_name(n)}.md": to_markdown(one).encode() for n, one in tables.items()},
        **{f"figures/{file_name(n)}.svg": one.wide.encode() for n, one in figures.items()},
    }


def file_name(name: str) -> str:
    """Return a name as a file can have it: without what would be a folder."""
    return name.replace("/", "_").replace("\\", "_")


def write_folder(files: Mapping[str, bytes], content: str, out: Path, *, page: str = PAGE) -> Path:
    """Write everything beside, then give it its name and return the page.

    A former report is replaced.
    """
    growing = partial(out)
    try:
        shutil.rmtree(growing, ignore_errors=True)
        for name, data in {**files, page: content.encode()}.items():
            path = growing / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        put_in_place(growing, out)
    except OSError as error:
        raise OutputError(cannot_write(out, error)) from error
    finally:
        shutil.rmtree(growing, ignore_errors=True)
    return out / page


def put_in_place(growing: Path, out: Path) -> None:
    """Rename; a former report stays until the new one is whole."""
    if not out.exists():
        os.rename(growing, out)
        return
    former = out.with_name(f"{out.name}.former")
    shutil.rmtree(former, ignore_errors=True)
    os.rename(out, former)
    os.rename(growing, out)
    shutil.rmtree(former, ignore_errors=True)

"""Writing a report: a folder that is there as a whole or not at all."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from dred.files import OutputError, cannot_write
from dred.reports.content import Content, Drawing, compute
from dred.reports.gather import gather
from dred.reports.page import page_of
from dred.reports.table import Table, to_csv, to_markdown

PARTS = {"report.html", "tables", "figures", "episodes"}


def make_report(paths: Sequence[Path], out: Path, *, seed: int = 0, episodes: int = 2) -> Path:
    """Read runs, and write their report; the page."""
    check_place(out)
    return write_report(compute(gather(paths), seed=seed, episodes=episodes), out)


def check_place(out: Path) -> None:
    """Stop before any work if the report could not be written there without loss."""
    for folder in (out, partial(out)):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise OutputError(
                f"{folder} is not a folder, so it is not replaced. Give another --out."
            )
        inside = {path.name for path in folder.iterdir()} if folder.exists() else set[str]()
        foreign = sorted(inside - PARTS)
        if foreign or (inside and folder == out and "report.html" not in inside):
            what = f"it holds {foreign[0]!r}" if foreign else "it holds no report.html"
            raise OutputError(
                f"{folder} exists and is not just a former report: {what}. A report replaces only "
                "a former report. Give a folder that does not exist yet as --out."
            )


def partial(out: Path) -> Path:
    """Where a report grows before it gets its name."""
    return out.with_name(f"{out.name}.partial")


def write_report(content: Content, out: Path) -> Path:
    """Write the page and all that lies beside it."""
    files = files_of(content)
    return write_folder(files, page_of(content, sorted(files)), out)


def write_folder(files: Mapping[str, bytes], page: str, out: Path) -> Path:
    """Write everything beside, then give it its name; a former report is replaced. The page."""
    growing = partial(out)
    try:
        shutil.rmtree(growing, ignore_errors=True)
        for name, data in {**files, "report.html": page.encode()}.items():
            path = growing / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        put_in_place(growing, out)
    except OSError as error:
        raise OutputError(cannot_write(out, error)) from error
    finally:
        shutil.rmtree(growing, ignore_errors=True)
    return out / "report.html"


def tables_and_figures(
    tables: Mapping[str, Table], figures: Mapping[str, Drawing]
) -> dict[str, bytes]:
    """Every table as CSV and Markdown and every figure as SVG, by the names of files."""
    return {
        **{f"tables/{name}.csv": to_csv(table).encode() for name, table in tables.items()},
        **{f"tables/{name}.md": to_markdown(table).encode() for name, table in tables.items()},
        **{f"figures/{name}.svg": drawing.wide.encode() for name, drawing in figures.items()},
    }


def files_of(content: Content) -> dict[str, bytes]:
    """What lies beside the page, by name."""
    files = tables_and_figures(
        {table.name: table for table in content.tables.values()},
        {drawing.name: drawing for drawing in content.drawings.values()},
    )
    for method, several in content.episodes.items():
        if not isinstance(several, str):
            for one in several:
                files[f"episodes/{method}-level-{one.level}.gif"] = one.gif
    return files


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

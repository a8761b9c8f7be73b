"""The report of a comparison, from run folders to a folder of its own."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from dred.reports.content import Content, compute
from dred.reports.gather import gather, own_report
from dred.reports.kit.folder import check_place, file_name, tables_and_figures, write_folder
from dred.reports.page import page_of


def make_report(
    paths: Sequence[Path], out: Path, *, seed: int = 0, episodes: int = 2, title: str = ""
) -> Path:
    """Read runs, write their report, and return the page."""
    check_place(out)
    own = own_report(paths)
    if own is not None:
        return own(paths, out, seed=seed)
    content = compute(gather(paths), seed=seed, episodes=episodes)
    return write_report(content, out, title=title)


def write_report(content: Content, out: Path, *, title: str = "") -> Path:
    """Write the page and all that lies beside it; return the page."""
    files = files_of(content)
    today = datetime.now().astimezone()
    date = f"{today.day} {today:%B %Y}"
    return write_folder(files, page_of(content, sorted(files), title=title, date=date), out)


def files_of(content: Content) -> dict[str, bytes]:
    """Return what lies beside the page, by name."""
    files = tables_and_figures(content.tables, content.drawings)
    for method, several in content.episodes.items():
        if not isinstance(several, str):
            for one in several:
                files[f"episodes/{file_name(method)}-level-{one.level}.gif"] = one.gif
    return files

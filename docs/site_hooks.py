"""What MkDocs calls while it builds the site (mkdocs.yml).

Pages that live outside `docs/` join the site under other names, and their links follow, so that
one text works on a code host and on the site.
"""

import os.path
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from site_pages import ROOT, commands_page, file_page, python_page, settings_page

FROM_ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
REFERENCE = {
    "reference/commands.md": commands_page,
    "reference/settings.md": settings_page,
    "reference/python.md": python_page,
}
LINK = re.compile(r"(\]\()([^)\s:#]+)(#[^)\s]*)?(\))")
EXAMPLES, GUIDES = "Examples", "How-to guides"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation: a page for each example, and pages that nobody has listed."""
    listed = set(re.findall(r"'([\w./-]+\.md)'", repr(config.nav)))
    docs = Path(config.docs_dir)
    pages = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    for entry in config.nav or []:
        if EXAMPLES in entry:
            entry[EXAMPLES] = [{path.name: site_path(path)} for path in examples()]
        if GUIDES in entry:
            entry[GUIDES] += [page for page in pages if page not in listed]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from elsewhere."""
    pages = {
        site: (ROOT / name).read_text(encoding="utf-8") for name, site in FROM_ELSEWHERE.items()
    }
    pages |= {site: make() for site, make in REFERENCE.items()}
    texts = {uri: text for uri, text in pages.items() if uri in FROM_ELSEWHERE.values()}
    texts |= {file.src_uri: file.content_string for file in files.documentation_pages()}
    linked = {path for uri, text in texts.items() for path in outside(text, uri)}
    pages |= {site_path(path): file_page(path) for path in {*linked, *examples()}}
    for uri, text in pages.items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links lead to where their files are on the site, and diagrams into tables."""
    uri = page.file.src_uri
    if uri in REFERENCE:
        return markdown
    here = PurePosixPath(uri).parent.as_posix()

    def follow(link: re.Match[str]) -> str:
        path = target_of(link[2], uri)
        if not path.is_file():
            return link[0]  # which MkDocs warns of
        there = os.path.relpath(site_path(path), here).replace(os.sep, "/")
        return f"{link[1]}{there}{link[3] or ''}{link[4]}"

    return without_diagrams(LINK.sub(follow, markdown))


def examples() -> list[Path]:
    """Return the files of the examples."""
    return sorted(path for path in (ROOT / "examples").iterdir() if path.suffix in (".py", ".toml"))


def home_of(uri: str) -> Path:
    """Return the folder in which the source of a page lies."""
    return ROOT if uri in FROM_ELSEWHERE.values() else (ROOT / "docs" / uri).parent


def target_of(link: str, uri: str) -> Path:
    """Return the file that a link in a page's source leads to."""
    return Path(os.path.normpath(home_of(uri) / link))


def outside(text: str, uri: str) -> set[Path]:
    """Return the files that a page links to and that are not on the site by themselves."""
    targets = {target_of(link[2], uri) for link in LINK.finditer(text)}
    known = {ROOT / name for name in FROM_ELSEWHERE}
    return {path for path in targets - known if path.is_file() and not is_on_site(path)}


def site_path(path: Path) -> str:
    """Return where a file of the repository is on the site."""
    name = path.relative_to(ROOT).as_posix()
    if name in FROM_ELSEWHERE:
        return FROM_ELSEWHERE[name]
    return name.removeprefix("docs/") if is_on_site(path) else f"{name}.md"


def is_on_site(path: Path) -> bool:
    """Return whether MkDocs takes this file as it is: all in `docs/` but the scripts."""
    return ROOT / "docs" in path.parents and path.suffix != ".py"


def without_diagrams(markdown: str) -> str:
    """Return a page whose Mermaid graphs, which need a script from elsewhere, are tables."""
    return re.sub(r"^```mermaid\n(.*?)^```$", as_table, markdown, flags=re.M | re.S)


def as_table(diagram: re.Match[str]) -> str:
    """Return the arrows of a graph as a table."""
    arrows: dict[str, list[str]] = {}
    for start, end in re.findall(r"^\s*(\S+) --> (\S+)$", diagram[1], re.M):
        arrows.setdefault(start, []).append(f"`{end}`")
    rows = [f"| `{start}` | {', '.join(ends)} |" for start, ends in arrows.items()]
    return "\n".join(["| folder | imports |", "|---|---|", *rows])

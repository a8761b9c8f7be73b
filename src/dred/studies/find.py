"""Finding a study's file: a path, or the name of a study that comes with dred."""

from pathlib import Path

from dred.errors import ConfigError, did_you_mean

SHIPPED = Path(__file__).parent / "shipped"
HOME = Path("studies")


def shipped_studies() -> dict[str, Path]:
    """Return the files of the studies that come with dred, by name."""
    return {file.stem: file for file in sorted(SHIPPED.glob("*.toml"))}


def find_study(said: Path) -> tuple[Path, Path]:
    """Return the file to read, and the path beside which the study's folder is.

    They are one file, unless there is none and it is the name of a study that comes with dred:
    `laptop` is then read from the package and fills `studies/laptop/` in the current folder, as
    does `studies/laptop.toml`.
    """
    shipped = shipped_studies()
    is_name = said.parent == Path() and said.suffix == ""
    if said.is_file() or not (is_name or (said.parent == HOME and said.stem in shipped)):
        return said, said
    if said.stem not in shipped:
        raise ConfigError(
            f"There is no study called {str(said)!r}.{did_you_mean(said.stem, shipped)} Give the "
            f"path of a TOML file, or one of the studies that come with dred: {', '.join(shipped)}."
        )
    return shipped[said.stem], HOME / f"{said.stem}.toml"

"""What a study's report is made from, as one file to publish: its finished runs without weights.

A run is here its `run.json`, its metrics and what it was evaluated on, with the levels given to
it, but not the model; some fifty kilobytes of an archive. Unpacked into the folder of the same
study, elsewhere or later, such runs count as finished: the report can be made again, all but the
pictures of buffers and of agents at play, and what is missing be trained.
"""

import lzma
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from dred.errors import DatasetError
from dred.files import check_writable, replacing
from dred.studies.jobs import RunJob

KEPT = ("run.json", "metrics.jsonl", "evaluation", "given")
LEFT_OUT = "given/generator"  # megabytes, which a run that is finished no longer needs
MOST_BYTES = 2 << 30  # of everything in an archive


def pack(folder: Path, jobs: Sequence[RunJob], out: Path) -> int:
    """Write what is kept of the finished runs of a study to a file; how many these are."""
    finished = [job.run.path for job in jobs if job.state() == "finished"]
    if not finished:
        raise DatasetError(
            f"No run of {folder} is finished yet, so there is nothing to pack. `dred study run` "
            "does what is missing."
        )
    write_archive(folder, finished, out)
    return len(finished)


def write_archive(folder: Path, runs: Sequence[Path], out: Path) -> None:
    """Write what is kept of these runs to a file. The same runs make the same file, bit for bit."""
    files = sorted(file for run in runs for file in kept_of(run))
    with (
        replacing(check_writable(out)) as temporary,
        tarfile.open(temporary, "w:xz", preset=9, format=tarfile.PAX_FORMAT) as archive,
    ):
        for file in files:
            archive.add(file, file.relative_to(folder).as_posix(), filter=without_origin)


def kept_of(run: Path) -> Iterable[Path]:
    """Yield the files of a run that are kept."""
    model = run / LEFT_OUT
    for name in KEPT:
        place = run / name
        found = place.rglob("*") if place.is_dir() else [place]
        yield from (file for file in found if file.is_file() and model not in file.parents)


def without_origin(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out whose file it was, and when."""
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o644
    return member


def unpack(file: Path, folder: Path) -> list[str]:
    """Put the runs of an archive into the folder of a study; their names.

    Runs that are there already stay as they are. A run's `run.json` comes last, so that one that
    was interrupted counts as never begun.
    """
    try:
        with tarfile.open(file, "r:xz") as archive:
            members = checked(archive, file)
            new = {name for name in members if not (folder / "runs" / name / "run.json").exists()}
            for name in sorted(new):
                for member in sorted(members[name], key=lambda one: one.name.endswith("run.json")):
                    source = archive.extractfile(member)
                    assert source is not None  # as all are files
                    with replacing(folder / member.name) as temporary:
                        temporary.write_bytes(source.read())
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError, ValueError) as error:
        raise DatasetError(
            f"{file} cannot be read as the archive of a study: {error}. Give a file that `dred "
            "study pack` wrote."
        ) from error
    return sorted(new)


def checked(archive: tarfile.TarFile, file: Path) -> dict[str, list[tarfile.TarInfo]]:
    """Return the files of an archive by run, all of which may be written and are not too large."""
    found: dict[str, list[tarfile.TarInfo]] = {}
    size = 0
    for member in archive:
        parts = list(PurePosixPath(member.name).parts)
        size += member.size
        is_kept = len(parts) > 2 and parts[0] == "runs" and parts[2] in KEPT
        if not (member.isreg() and is_kept) or any(part in ("..", "/") for part in parts):
            raise DatasetError(
                f"{file} holds {member.name!r}, which is not a part of a run that `dred study "
                "pack` keeps. Nothing of it was written."
            )
        if size > MOST_BYTES:
            raise DatasetError(
                f"{file} says that it holds more than {MOST_BYTES >> 30} gigabytes, which no "
                "study's results need. Nothing of it was written."
            )
        found.setdefault(parts[1], []).append(member)
    return found

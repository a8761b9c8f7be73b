"""Every reader, given damaged files: each is read rightly, or refused in one paragraph."""

import json
import random
import re
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import dred
from dred import checkpoint, exported_policy, pretrained, registry
from dred.config import TrainConfig
from dred.errors import CheckpointError, DatasetError, DredError
from dred.run_folder import RunFolder
from dred.settings import read_settings, read_table
from dred.studies.archive import unpack, write_archive
from dred.studies.study import read_study
from dred.tasks.gridworld.levels.importers import import_levels
from dred.tasks.gridworld.levels.plan import find_config
from dred.tasks.gridworld.levels.wfc.structures import find_structure

GOLDEN_RUN = Path(__file__).parent / "golden" / "run-format-1"
FEW, MANY = 25, 700
ODD_VALUES = (None, -1, 2**70, 1e308, float("nan"), "", "\x00<script>", [], [[]], {}, True, "1e9")


@dataclass(frozen=True)
class Reader:
    """A kind of file: how one is made, and what reads it and returns what can be compared."""

    name: str
    make: Callable[[Path], Path]
    read: Callable[[Path], object]
    is_exact: bool = False  # a digest tells every change
    is_strict: bool = True  # refuses some; else what is damaged is left out


def level_file(folder):
    dred.levels.save(dred.levels.make("cave-escape-train", count=8), folder / "levels.npz")
    return folder / "levels.npz"


def written(name, text):
    def make(folder):
        (folder / name).write_text(text, encoding="utf-8")
        return folder / name

    return make


def drawings():
    levels = dred.levels.make("cave-escape-train", count=3)
    return [dred.levels.to_text(levels[number]) for number in range(3)]


def json_levels(folder):
    path = folder / "levels.json"
    path.write_text(json.dumps([{"drawing": text} for text in drawings()]))
    return path


def json_lines(folder):
    path = folder / "levels.jsonl"
    path.write_text("".join(json.dumps({"drawing": text}) + "\n" for text in drawings()))
    return path


def text_levels(folder):
    return written("levels.txt", "\n\n".join(drawings()))(folder)


def picture(folder):
    tiles = np.full((7, 7, 3), 255, np.uint8)
    from dred.tasks.gridworld.levels.importers import DEFAULT_COLOURS

    tiles[:] = DEFAULT_COLOURS["empty"]
    tiles[0, 0], tiles[5, 5] = DEFAULT_COLOURS["start"], DEFAULT_COLOURS["goal"]
    Image.fromarray(tiles).save(folder / "level.png")
    return folder / "level.png"


def minigrid_file(folder):
    from dred.tasks.gridworld.minigrid import to_minigrid

    levels = dred.levels.make("cave-escape-train", count=2)
    grids = [to_minigrid(levels[number]).unwrapped for number in range(2)]
    for grid in grids:
        grid.reset()
    encodings = [grid.grid.encode() for grid in grids]
    for encoding, grid in zip(encodings, grids, strict=True):
        encoding[tuple(grid.agent_pos)] = 10, 0, 0
    np.save(folder / "grids.npy", np.stack(encodings))
    return folder / "grids.npy"


def state_file(folder):
    checkpoint.write(folder / "update-00000001.npz", {"weights": np.arange(12.0), "count": 3})
    return folder / "update-00000001.npz"


def run_record(folder):
    shutil.copytree(GOLDEN_RUN, folder / "run")
    return folder / "run" / "run.json"


def read_run(path):
    run = RunFolder(path.parent)
    return run.config, run.seeds, run.metrics(), run.record.levels


def metrics_file(folder):
    return run_record(folder).with_name("metrics.jsonl")


def policy_file(folder):
    shutil.copyfile(pretrained.FOLDER / "uniform.npz", folder / "policy.npz")
    return folder / "policy.npz"


def read_policy(path):
    try:
        return sorted(exported_policy.load(path).weights)
    except ValueError as error:  # a file that can be copied anywhere knows no other errors
        raise DredError(str(error)) from None


def device_file(folder):
    task = registry.find_task("control/pendulum")
    levels = task.make_levels("train", count=6, seed=0)
    levels.save(folder / "devices.npz")
    return folder / "devices.npz"


def device_table(folder):
    levels = registry.find_task("control/pendulum").level_format.load(device_file(folder))
    names = list(levels.columns)
    rows = zip(*(levels.columns[name].tolist() for name in names), strict=True)
    lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    return written("devices.csv", "\n".join(lines))(folder)


def read_devices(path):
    return registry.find_task("control/pendulum").level_format.load(path).digest


SETTINGS = """num_updates = 40

[method]
name = "mine"
staleness = 0.3
capacity = 40
primary = { score = "value_loss", transform = "rank", temperature = 0.1 }
eta = { start = 0.0, end = 1.0, shape = "linear" }

[ppo]
learning_rate = 0.001
epochs = 3
"""
STUDY = """methods = ["uniform", "plr"]
seeds = [0, 1]
preset = "smoke"
suites = ["paper"]

[grid]
"ppo.learning_rate" = [0.001, 0.002]
"""
PLAN = """count = 12
size = 13
structures = ["maze_wall", "rooms_office"]
"""
PATTERN = """###..
#....
#.#.#
..#.#
....#
"""


def read_imported(path):
    return import_levels(path).dataset.digest


def archive_of_a_study(folder):
    path, run = folder / "study.tar.xz", folder / "study" / "runs" / "a"
    (run / "evaluation").mkdir(parents=True)
    (run / "run.json").write_text("{}")
    (run / "evaluation" / "test.csv").write_text("seed,suite,level,episode,solved,return,steps\n")
    write_archive(folder / "study", [run], path)
    return path


def read_archive(path):
    folder = path.with_name("unpacked")
    shutil.rmtree(folder, ignore_errors=True)
    unpack(path, folder)
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


READERS = [
    Reader("levels", level_file, lambda path: dred.levels.load(path).digest, is_exact=True),
    Reader("text", text_levels, read_imported),
    Reader("picture", picture, read_imported),
    Reader("JSON", json_levels, read_imported),
    Reader("JSON lines", json_lines, read_imported),
    Reader("Minigrid", minigrid_file, read_imported),
    Reader("devices", device_file, read_devices, is_exact=True),
    Reader("table", device_table, read_devices),
    Reader("checkpoint", state_file, lambda path: str(checkpoint.read(path)), is_exact=True),
    Reader("policy", policy_file, read_policy, is_exact=True),
    Reader("run.json", run_record, read_run),
    Reader("metrics", metrics_file, read_run, is_strict=False),
    Reader("archive", archive_of_a_study, read_archive, is_exact=True),
    Reader("study", written("study.toml", STUDY), lambda path: read_study(path).config),
    Reader(
        "settings",
        written("settings.toml", SETTINGS),
        lambda path: read_settings(TrainConfig, read_table(path), where=str(path)),
    ),
    Reader("plan", written("plan.toml", PLAN), find_config),
    Reader("pattern", written("pattern.txt", PATTERN), lambda path: find_structure(str(path))),
]


def damaged(content, rng):
    """Return other bytes: some changed, lost, repeated, moved or put in."""
    found = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        place = rng.randrange(max(len(found), 1))
        length = rng.choice((1, 1, 4, 40, len(found)))
        piece = found[place : place + length]
        match rng.randrange(6):
            case 0:
                found[place : place + 1] = bytes([rng.randrange(256)])
            case 1:
                del found[place : place + length]
            case 2:
                found[place:place] = piece
            case 3:
                found[place : place + length] = bytes(len(piece))
            case 4:
                found[place:place] = rng.randbytes(length % 50)
            case _:
                del found[place:]
    return bytes(found)


def with_odd_value(text, rng):
    """Return a text of which one value, word or number is something else."""
    words = list(re.finditer(r'"[^"\n]*"|-?\d[\w.]*|\w+', text))
    word = rng.choice(words)
    odd = json.dumps(rng.choice(ODD_VALUES))
    return text[: word.start()] + odd + text[word.end() :]


def mutated(content, rng):
    is_text = not content.startswith((b"PK", b"\x89PNG", b"\x93NUMPY", b"\xfd7zXZ"))
    if is_text and re.search(rb"\w", content) and rng.random() < 0.5:
        return with_odd_value(content.decode(), rng).encode()
    return damaged(content, rng)


def try_damage(reader, folder, count):
    """Read so many damaged files; return how many were refused."""
    path = reader.make(folder)
    content, whole = path.read_bytes(), reader.read(path)
    rng, refused = random.Random(f"dred {reader.name}"), 0
    for number in range(count):
        other = mutated(content, rng)
        path.write_bytes(other)
        try:
            found = reader.read(path)
        except DredError as error:
            refused += 1
            said = str(error)
            assert said and "\n\n" not in said and len(said) < 2500, (number, said)
        except Exception as error:
            raise AssertionError(f"damage {number} of {reader.name}: {other[:300]!r}") from error
        else:
            assert found == whole or not reader.is_exact, number
    return refused


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_damaged_file_is_read_rightly_or_refused_in_a_paragraph(reader, tmp_path):
    assert (try_damage(reader, tmp_path, FEW) > 0) == reader.is_strict


@pytest.mark.long
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_ten_thousand_damaged_files_are_read_rightly_or_refused(reader, tmp_path):
    assert MANY * len(READERS) >= 10_000
    assert (try_damage(reader, tmp_path, MANY) > 0) == reader.is_strict


def bomb(path, name, size):
    """Write an archive of a few kilobytes that becomes so many bytes."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},)}}".ljust(117) + "\n"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(f"{name}.npy", "w", force_zip64=True) as stream,
    ):
        stream.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little"))
        stream.write(header.encode())
        for _ in range(size // 2**20):
            stream.write(bytes(2**20))


def huge(path, name):
    """Write an archive whose array says that it is larger than any memory."""
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1099511627776,)}".ljust(117) + "\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
        archive.writestr(f"{name}.npy", content)


@pytest.mark.parametrize("read", [checkpoint.read, import_levels], ids=["checkpoint", "import"])
def test_archives_that_would_fill_the_memory_are_refused_before_it_is_taken(
    read, tmp_path, monkeypatch
):
    def never(*_, **__):
        raise AssertionError("memory was taken")

    monkeypatch.setattr(np.lib.format, "read_array", never)
    bomb(tmp_path / "bomb.npz", "tiles", 2**27)
    assert (tmp_path / "bomb.npz").stat().st_size < 2**20
    with pytest.raises((CheckpointError, DatasetError), match="would become 134,2"):
        read(tmp_path / "bomb.npz")
    huge(tmp_path / "huge.npz", "tiles")
    with pytest.raises(
        (CheckpointError, DatasetError), match="should have 1,099,511,627,776 bytes"
    ):
        read(tmp_path / "huge.npz")


def test_a_set_of_levels_that_says_it_is_huge_is_refused(tmp_path):
    path = level_file(tmp_path)
    arrays = dict(np.load(path))
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as stream:
                np.lib.format.write_array(stream, array)
    assert dred.levels.load(path).digest
    huge(tmp_path / "one.npz", "tiles")
    with zipfile.ZipFile(tmp_path / "one.npz") as one, zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiles.npy", one.read("tiles.npy"))
        for name, array in arrays.items():
            if name != "tiles":
                with archive.open(f"{name}.npy", "w") as stream:
                    np.lib.format.write_array(stream, array)
    with pytest.raises(DatasetError, match="should have 1,099,511,627,776 bytes"):
        dred.levels.load(path)


SMALL_MODELS = {
    "vae": ("last", {"epochs": 1, "latent_size": 4}),
    "masked": ("best", {"epochs": 1, "size": 4, "steps_between": [1], "ahead": 0}),
}


@pytest.mark.parametrize("model", SMALL_MODELS)
def test_a_damaged_generator_is_refused_in_a_paragraph(model, tmp_path):
    weights, settings = SMALL_MODELS[model]
    levels = dred.levels.make("cave-escape-train", count=8)
    dred.fit(levels, out=tmp_path / model, model=model, set=settings)
    rng = random.Random("dred generator")
    for name, count in (("generator.json", 30), (f"{weights}.npz", 4), ("levels.npz", 4)):
        path = tmp_path / model / name
        content = path.read_bytes()
        for _ in range(count):
            path.write_bytes(mutated(content, rng))
            try:
                dred.generators.load(tmp_path / model)
            except DredError as error:
                assert "\n\n" not in str(error)
        path.write_bytes(content)
    dred.generators.load(tmp_path / model)

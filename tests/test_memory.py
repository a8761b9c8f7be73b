"""The memory that docs/scaling.md tells of, counted once more."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
MEMORY = runpy.run_path(str(DOCS / "memory.py"))


@pytest.mark.parametrize("preset", MEMORY["PRESETS"])
def test_the_page_tells_the_bytes_of_agents(preset):
    learner, agent = MEMORY["of_learner"](preset), MEMORY["of_agent"](preset)
    assert f"| `{preset}` | {learner:,} | {agent:,} |" in (DOCS / "scaling.md").read_text("utf-8")


def test_the_page_tells_the_bytes_of_levels_which_grow_with_their_cells():
    found = {name: MEMORY["of_buffer_level"](cells) for name, cells in MEMORY["SIZES"].items()}
    page = (DOCS / "scaling.md").read_text("utf-8")
    assert all(f"| {name} | {count:,} |" in page for name, count in found.items())
    small, large = found.values()
    assert 13**2 < small < large < small * (43 / 13) ** 2 * 2

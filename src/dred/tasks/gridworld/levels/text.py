"""Level ⇄ drawing, for tests, documents, error messages and people.

```
#  wall     .  empty     ,  moss     ~  lava     G  goal     S  start, any heading
>  v  <  ^  start with that heading
```
"""

import numpy as np

from dred.errors import DatasetError
from dred.tasks.gridworld.levels.level import (
    ANY_HEADING,
    EMPTY,
    LAVA,
    MOSS,
    WALL,
    Level,
    cropped,
    make_level,
)

TILE_OF = {"#": WALL, ".": EMPTY, ",": MOSS, "~": LAVA}
SYMBOL_OF = {tile: symbol for symbol, tile in TILE_OF.items()}
HEADING_OF = {"S": ANY_HEADING, ">": 0, "v": 1, "<": 2, "^": 3}
START_OF = {heading: symbol for symbol, heading in HEADING_OF.items()}
LEGEND = "# wall, . empty, , moss, ~ lava, G goal, S start, or > v < ^ for a start with a heading"


def from_text(drawing: str) -> Level:
    """The level that a drawing shows.

    Blank lines before and after the drawing, and spaces around its lines, do not count; so a
    drawing may be indented in code.
    """
    lines = drawing.splitlines()
    rows = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise DatasetError(f"The drawing is empty. Draw one row of cells a line: {LEGEND}.")
    first, last = rows[0][0], rows[-1][0]
    if last - first + 1 != len(rows):
        gap = next(number for number in range(first, last) if not lines[number - 1].strip())
        raise DatasetError(
            f"Line {gap}, column 1: there is a blank line inside the drawing. One drawing is one "
            "block of lines; to read several from a file use `dred levels import`."
        )
    width = len(rows[0][1].strip())
    tiles = np.zeros((len(rows), width), np.uint8)
    goals: list[tuple[int, int]] = []
    starts: list[tuple[int, int, int]] = []
    for row, (number, line) in enumerate(rows):
        indent = len(line) - len(line.lstrip())
        symbols = line.strip()
        if len(symbols) != width:
            column = indent + min(len(symbols), width) + 1
            raise DatasetError(
                f"Line {number}, column {column}: this row has {len(symbols)} cells, the first "
                f"row has {width}. All rows of a level must be equally long."
            )
        for column, symbol in enumerate(symbols):
            place = f"Line {number}, column {indent + column + 1}"
            if symbol in TILE_OF:
                tiles[row, column] = TILE_OF[symbol]
            elif symbol == "G":
                if goals:
                    raise DatasetError(f"{place}: a second goal. A level has exactly one G.")
                goals.append((row, column))
            elif symbol in HEADING_OF:
                if starts:
                    raise DatasetError(
                        f"{place}: a second start. A level has exactly one of S > v < ^."
                    )
                starts.append((row, column, HEADING_OF[symbol]))
            else:
                raise DatasetError(f"{place}: {symbol!r} is not a tile. Tiles: {LEGEND}.")
    for what, found, symbols in (("goal", goals, "G"), ("start", starts, "S > v < ^")):
        if not found:
            raise DatasetError(
                f"Lines {first} to {last}, columns 1 to {width}: there is no {what} in the "
                f"drawing. A level has exactly one of {symbols}."
            )
    row, column, heading = starts[0]
    return make_level(tiles, goals[0], (row, column), heading)


def to_text(level: Level) -> str:
    """The drawing of a level, without padding and without a newline at the end."""
    level = cropped(level)
    symbols = [[SYMBOL_OF.get(int(tile), "?") for tile in row] for row in level.tiles]
    goal_row, goal_column = (int(part) for part in level.goal)
    start_row, start_column = (int(part) for part in level.start)
    symbols[goal_row][goal_column] = "G"
    symbols[start_row][start_column] = START_OF[int(level.heading)]
    return "\n".join("".join(row) for row in symbols)

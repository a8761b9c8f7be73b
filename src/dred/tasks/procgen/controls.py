"""The table of what agents get and know beside what they did before they learned anything.

Levels look different, and training levels may just be easier than others: an untrained network
already tells levels apart, and an untrained policy has a GenGap. What training adds is the rest.
"""

import numpy as np

from dred.reports.kit.table import Cell, Table, Value
from dred.tasks.procgen.analysis import Findings
from dred.tasks.procgen.outcomes import by_game, spread_of, strategies_of
from dred.tasks.procgen.shown import plus_minus

NO_RUNS = np.zeros(0)

CONTROLLED = {
    "information": "I(L; b), nats",
    "accuracy": "Accuracy",
    "gen_gap": "GenGap",
    "train": "Train score",
    "test": "Test score",
}
PERCENT = ("accuracy",)


def beside_untrained(findings: Findings) -> Table:
    """Return measurements by game and strategy, each beside that of the untrained agents."""
    usual = findings.usual
    found = {key: by_game(usual, key) for name in CONTROLLED for key in (name, f"untrained_{name}")}
    games = sorted({one.game for one in usual})
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[Value, ...]] = []
    for game in games:
        for strategy in strategies_of(one for one in usual if one.game == game):
            cells: list[Cell] = []
            for name in CONTROLLED:
                mine, before = (
                    spread_of(found[key].get(game, {}).get(strategy, NO_RUNS))
                    for key in (name, f"untrained_{name}")
                )
                percent = name in PERCENT
                shown = plus_minus(before, percent=percent) if before.runs else "not measured"
                cells.append(Cell(plus_minus(mine, percent=percent), f"untrained {shown}"))
                data.append((game, strategy, name, *mine, *before))
            rows.append((Cell(game), Cell(strategy), *cells))
    return Table(
        "untrained",
        "Beside agents that have learned nothing, mean ± standard deviation over seeds",
        (
            *("Game", "Strategy"),
            *(
                f"{label}, per cent" if key in PERCENT else label
                for key, label in CONTROLLED.items()
            ),
        ),
        tuple(rows),
        (
            *("game", "strategy", "measure", "runs", "mean", "deviation"),
            *("untrained_runs", "untrained_mean", "untrained_deviation"),
        ),
        tuple(data),
        "Small print: the same networks before training, by the same classifier and on the same "
        "levels. What is above that was learned.",
    )

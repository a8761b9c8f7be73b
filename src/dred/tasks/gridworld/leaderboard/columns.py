"""The columns of the leaderboard: what each number says, and which of two is the better."""

from typing import NamedTuple

from dred.tasks.gridworld.leaderboard.measures import COPIED
from dred.tasks.gridworld.leaderboard.sources import BATCH


class Column(NamedTuple):
    """A column of the table."""

    name: str
    heading: str
    meaning: str
    percent: bool = False
    better: int = 0  # 1 more is better, −1 less is, 0 neither
    digits: int = 1


COLUMNS = (
    Column(
        "valid",
        "valid",
        "Proper levels: one start and one goal, on different free cells.",
        percent=True,
        better=1,
    ),
    Column(
        "solvable",
        "solvable",
        "Levels whose goal can be reached, of all levels.",
        percent=True,
        better=1,
    ),
    Column("unique", "unique", "Different levels, of all levels.", percent=True),
    Column(
        "novel",
        "novel",
        "Levels that are not in the dataset. Much less than all is a model that repeats what it "
        "has learned by heart.",
        percent=True,
        better=1,
    ),
    Column(
        "nearest",
        "cells from nearest",
        "Cells in which a level differs from the nearest level of the dataset, on average. As many "
        "as fresh levels have is right: fewer is memory, more is another kind of level.",
    ),
    Column(
        "copied",
        f"copied {COPIED}×{COPIED} windows",
        f"Windows of {COPIED}×{COPIED} cells, start and goal included, that occur somewhere in the "
        "dataset. Fresh levels have some by chance; more than they have is memory.",
        percent=True,
    ),
    Column(
        "shift",
        "JS distance to train",
        "Jensen–Shannon distance (base 2) of the distribution of tile and distance to the goal to "
        "that of the dataset. 0 can be had by repeating the dataset, so nothing is marked; fresh "
        "levels are the floor.",
        digits=3,
    ),
    Column(
        "shift_held_out",
        "JS distance to held-out",
        "The same to levels held out, which no generator has seen. Two finite sets of one kind are "
        "never at 0: fresh levels are the floor.",
        better=-1,
        digits=3,
    ),
    Column(
        "moss_right",
        "moss right",
        "Levels in which moss is nearer the goal than chance, of those where that is defined.",
        percent=True,
        better=1,
    ),
    Column(
        "lava_right",
        "lava right",
        "Levels in which lava is farther from the goal than chance, likewise.",
        percent=True,
        better=1,
    ),
    Column(
        "typical",
        "of a known structure",
        "Levels whose 3×3 windows of floor and wall are as probable, under one of the structures "
        "of the dataset, as those of 99 % of that structure's own levels. What is made of just "
        "such windows, as by wave function collapse, does well here by construction, and rooms "
        "with little in them look like those of obstacles.",
        percent=True,
        better=1,
    ),
    Column(
        "structures",
        "structures",
        "How many structures of the dataset are covered by these levels: the exponential of the "
        "entropy of their shares, so as many as equally frequent ones.",
        better=1,
        digits=2,
    ),
    Column(
        "diversity",
        "cells between two",
        "Cells in which two of the levels differ, on average over all pairs. As many as in "
        "the dataset is right.",
    ),
    Column(
        "likelihood",
        "log-likelihood (nats)",
        "A lower bound on the log-likelihood of a held-out level, on average. Of a VAE it is that "
        "of importance sampling, of a masked model that over all orders of the cells; both hold "
        "for the model as it was fitted, before drawing keeps levels in one part. The gap between "
        "bound and likelihood differs from kind to kind. Other generators define none.",
        better=1,
    ),
    Column(
        "milliseconds",
        "ms a level",
        f"Milliseconds for a level, compiled, in batches of {BATCH} as in training, on this "
        "machine as busy as it was.",
        better=-1,
        digits=3,
    ),
    Column(
        "times",
        "× random rooms",
        "The same as a multiple of the time for random rooms, which were timed in turn with it.",
        digits=1,
    ),
)

"""The tables of correlations, probabilities of improvement and numbers of training levels.

They hold the numbers of the paper's figures fig:correlation_analysis, fig:p_improvement_procgen
and fig:numlvl_exp.
"""

from collections.abc import Iterable

from dred.reports.correlations import Correlation, coefficient, correlation
from dred.reports.kit.table import NOTHING, Cell, Table, between
from dred.tasks.procgen.analysis import PAIRS, Findings, Improvement, points_of
from dred.tasks.procgen.paper import CORRELATIONS, printed_means
from dred.tasks.procgen.shown import INTERVALS, capital, ends, interval_note, plus_minus

RELATIONS = {
    ("information", "gen_gap"): "I(L; b) and GenGap",
    ("information", "normalised_gen_gap"): "I(L; b) and normalised GenGap",
    ("learned_information", "learned_gen_gap"): "what training adds to I(L; b) and to GenGap",
    ("information", "value_loss"): "I(L; b) and value loss",
    ("value_loss", "gen_gap"): "value loss and GenGap",
}
OF_SIZE = ("train", "test", "gen_gap", "shift_gap", "effective_levels", "train_deficit")


def correlations(findings: Findings) -> Table:
    """Return correlations over runs and over means of seeds, with what the paper says."""
    found = [
        (relation, over, one)
        for relation in RELATIONS
        for over, one in correlations_of(findings, relation)
    ]
    return Table(
        "correlations",
        "Correlations",
        ("Between", "Over", "Points", "Pearson", "Kendall τ-b", "Pearson within games"),
        tuple(
            (
                Cell(capital(RELATIONS[relation])),
                Cell(over),
                Cell(str(one.points)),
                coefficient(one.pearson, one.pearson_p),
                coefficient(one.kendall, one.kendall_p),
                coefficient(one.within, one.within_p),
            )
            for relation, over, one in found
        ),
        ("x", "y", "over", *Correlation._fields),
        tuple((*relation, over, *one) for relation, over, one in found),
        "Small print: two-sided p-values, which take points for independent although many share a "
        "game. Within games: after taking away each game's mean. Empty where there are fewer than "
        "three points, or where nothing varies.",
    )


def correlations_of(
    findings: Findings, relation: tuple[str, str]
) -> Iterable[tuple[str, Correlation]]:
    """Yield one pair of measurements: ours over runs and over means, the paper's over the same."""
    yield "runs", correlation(points_of(findings.usual, *relation))
    yield "means of seeds", correlation(points_of(findings.usual, *relation, seed_means=True))
    if relation in CORRELATIONS:
        pearson, kendall = CORRELATIONS[relation]
        yield "paper, its runs", Correlation(400, pearson=pearson, kendall=kendall)
    theirs = points_of(printed_means(), *relation)
    if theirs.name:
        yield "paper, its printed means", correlation(theirs)


def probabilities_of_improvement(findings: Findings) -> Table:
    """Return probabilities of improvement for the paper's four pairs."""
    found = {
        key: {(one.strategy, one.other): one for one in some}
        for key, some in findings.improvements.items()
    }
    pairs = [pair for pair in PAIRS if any(pair in some for some in found.values())]
    return Table(
        "improvement",
        "Probability that a run of the first has more than a run of the second in the same game",
        ("Strategies", "Test score ↑", "GenGap ↓"),
        tuple(
            (
                Cell(f"{one} against {other}"),
                improvement_cell(found["test"].get((one, other)), more_is_better=True),
                improvement_cell(found["gen_gap"].get((one, other)), more_is_better=False),
            )
            for one, other in pairs
        ),
        ("strategy", "other", "measure", "games", "probability", *INTERVALS),
        tuple(
            (*pair, key, one.games, one.value, *ends(one.intervals))
            for key, some in found.items()
            for pair, one in some.items()
        ),
        "Means over games; ties count half. Green speaks for the first. "
        + interval_note(findings.usual),
    )


def improvement_cell(one: Improvement | None, *, more_is_better: bool) -> Cell:
    """Return a probability, coloured by whether it speaks for the first."""
    if one is None:
        return Cell(NOTHING)
    share = one.value if more_is_better else 1.0 - one.value
    return Cell(f"{one.value:.2f}", between(one.intervals[0.95]), share=share)


def sizes(findings: Findings) -> Table:
    """Games that were trained on several numbers of levels."""
    return Table(
        "num-levels",
        "The number of training levels, mean ± standard deviation over seeds",
        (
            *("Game", "Strategy", "Levels", "Train score", "Test score", "GenGap", "ShiftGap"),
            *("Levels in effect", "Uniform's train score − this"),
        ),
        tuple(
            (
                Cell(row.game),
                Cell(row.strategy),
                Cell(f"{row.num_levels:,}"),
                *(Cell(plus_minus(getattr(row, measure))) for measure in OF_SIZE),
            )
            for row in findings.sizes
        ),
        ("game", "strategy", "num_levels", "measure", "runs", "mean", "deviation", "error"),
        tuple(
            (row.game, row.strategy, row.num_levels, measure, *spread, spread.error)
            for row in findings.sizes
            for measure in OF_SIZE
            for spread in [getattr(row, measure)]
        ),
    )

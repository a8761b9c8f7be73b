"""The table of gaps, which agrees with the tables of scores of the same report.

GenGap is what the whole suites `train` and `test` tell, seed by seed, if all runs were evaluated on
both. While training, a run tries at most `evaluate_levels` levels of each set; that live gap counts
only where the suites are not there, and is called live.
"""

from dataclasses import replace

from dred.metrics import in_section
from dred.reports.at_end import Evaluated, at_end
from dred.reports.kit.table import Table
from dred.reports.material import Material, Method
from dred.reports.paper import paper_note
from dred.reports.results import Results
from dred.reports.tables import levels_of

GEN_GAP = "gen_gap"


def gaps_table(material: Material, results: Results) -> Table:
    """Return GenGap, ShiftGap, shift and information at the end of training."""
    full = evaluated_gaps(material, results)
    table = at_end(
        material,
        "gaps",
        "Generalisation and shift",
        in_section("gaps", material.task.features),
        evaluated=full,
        origins={GEN_GAP: "whole suites, train − test" if full else "live"},
    )
    theirs = paper_note({k: n for k, n in levels_of(material).items() if k in ("train", "test")})
    return replace(table, note=f"{gen_gap_note(material, full)} {table.note} {theirs}".strip())


def evaluated_gaps(material: Material, results: Results) -> Evaluated:
    """Return GenGap of each seed by the mean returns of the report, if it has both suites."""
    there = {"train", "test"} <= results.keys()
    if not there or not all(map(played_its_own_levels, material.methods)):
        return {}
    train, test = (results[suite]["mean_return"] for suite in ("train", "test"))
    return {GEN_GAP: {name: train[name].by_run - test[name].by_run for name in train}}


def played_its_own_levels(method: Method) -> bool:
    """Return whether `train` is what the method was trained on, as far as that is known."""
    played = method.scores["train"].task.get("digest")
    noted = [run.record.levels.get("train") for run in method.runs]
    given = {file.digest for file in noted if file is not None and file.digest}
    return played is None or given <= {played}


def gen_gap_note(material: Material, full: Evaluated) -> str:
    """Return where GenGap comes from, and where all else does."""
    if full:
        counts = levels_of(material)
        return (
            f"GenGap is the mean return on all {counts['train']:,} levels of the suite train minus "
            f"that on all {counts['test']:,} of the suite test, as the table of mean returns has "
            "them. All else is the last measurement during training."
        )
    most = max(method.config.evaluate_levels for method in material.methods)
    return (
        f"All are last measurements during training; GenGap is live, from one try in at most "
        f"{most:,} levels of each set. Evaluate on the suites train and test to have it from all "
        "their levels."
    )

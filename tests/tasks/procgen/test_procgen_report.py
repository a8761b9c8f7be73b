"""The report of a Procgen study: what lies in its folder, and what its page says."""

import csv
import io
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from dred.errors import DatasetError
from dred.files import OutputError
from dred.reports.kit.table import to_csv, to_markdown
from dred.tasks.procgen.analysis import analyse
from dred.tasks.procgen.comparisons import correlations, probabilities_of_improvement, sizes
from dred.tasks.procgen.controls import beside_untrained
from dred.tasks.procgen.curves import curves_by_game, curves_over_games
from dred.tasks.procgen.figures import all_figures
from dred.tasks.procgen.outcomes import MEASURES, STRATEGIES, Outcome, Spread
from dred.tasks.procgen.paper import printed_means, table
from dred.tasks.procgen.report import write_report
from dred.tasks.procgen.shown import plus_minus
from dred.tasks.procgen.tables import all_outcomes, over_games, per_game

FEW = {"repeats": 100, "pair_repeats": 100}
VOID = {"meta", "link", "img", "source", "br"}


def like_the_paper(*, games=("bigfish", "maze", "miner"), seeds=3):
    """Made-up runs round the paper's means."""
    random = np.random.default_rng(0)
    return [
        replace(
            one,
            seed=seed,
            value_loss=float(random.uniform(0.1, 0.5)),
            shift_gap=float(random.normal(0.5, 0.2)),
            **{
                measure: float(random.normal(*table()[one.game, one.strategy, measure]))
                for measure in ("train", "test", "information", "accuracy")
            },
        )
        for one in printed_means()
        for seed in range(seeds)
        if one.game in games
    ]


def more_levels(outcomes):
    """The same runs of miner, with more levels."""
    some = [one for one in outcomes if one.game == "miner" and one.strategy in STRATEGIES[:2]]
    return [replace(one, num_levels=500, test=one.test + 0.5) for one in some]


def rows_of(outcome, *, updates=(0, 50, 100)):
    return [
        {
            "update": update,
            "transitions": update * 16_384,
            "return/train": outcome.train * update / 100,
            "return/test": outcome.test * update / 100,
            "gen_gap": outcome.gen_gap * update / 100,
            "mutual_information": outcome.information * update / 100,
            "probe_accuracy": outcome.accuracy * update / 100,
            "effective_levels": 200.0 - update,
        }
        for update in updates
    ]


@pytest.fixture(scope="module")
def outcomes():
    some = like_the_paper()
    return some + more_levels(some)


@pytest.fixture(scope="module")
def report(outcomes, tmp_path_factory):
    out = tmp_path_factory.mktemp("procgen") / "report"
    curves = {one.run: rows_of(one) for one in outcomes}
    write_report(outcomes, out, curves=curves, repeats=200)
    return out


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text)))


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.sources = [], set(), [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in given:
            self.ids.add(given["id"])
        self.links += [given["href"]] if tag == "a" else []
        self.sources += [given[name] for name in ("src", "srcset") if name in given]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(out):
    page = Balanced()
    page.feed((out / "report.html").read_text(encoding="utf-8"))
    page.close()
    return page


def test_every_table_and_figure_is_a_file(report):
    tables = {path.name for path in (report / "tables").iterdir()}
    names = ["over-games", "train", "test", "gen-gap", "information", "accuracy", "correlations"]
    names += ["improvement", "num-levels", "outcomes", "untrained"]
    assert tables == {f"{name}.{kind}" for name in names for kind in ("csv", "md")}
    figures = {path.stem for path in (report / "figures").iterdir()}
    assert figures == {
        *("over-games", "correlations", "improvement", "num-levels-miner", "curves"),
        *("curves-train", "curves-test", "curves-gen-gap", "curves-information"),
        "curves-accuracy",
    }
    for path in (report / "figures").iterdir():
        assert path.read_text(encoding="utf-8").rstrip().endswith("</svg>")


def test_the_page_is_whole_and_needs_nothing_else(report):
    page = parsed(report)
    assert page.open == []
    assert page.sources and all(source.startswith("data:") for source in page.sources)
    inner = [link for link in page.links if link.startswith("#")]
    assert len(inner) == 8 and all(link[1:] in page.ids for link in inner)
    assert all((report / link).is_file() for link in page.links if not link.startswith("#"))
    text = (report / "report.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "Over 45 runs, the correlation of I(L; b) and GenGap is" in text
    assert "over 3 games." in text


def test_the_same_outcomes_give_the_same_files(outcomes, tmp_path):
    some = [one for one in outcomes if one.game == "miner"]
    for name in ("one", "two"):
        write_report(some, tmp_path / name, repeats=50)
    for path in (tmp_path / "one").rglob("*.*"):
        other = tmp_path / "two" / path.relative_to(tmp_path / "one")
        assert path.read_bytes() == other.read_bytes(), path.name


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.key)
def test_a_table_by_game_has_all_digits_and_the_papers_numbers(outcomes, measure):
    findings = analyse(outcomes, **FEW)
    rows = read_csv(to_csv(per_game(findings, measure)))
    assert len(rows) == 4 * 5  # three games and all of them
    row = next(r for r in rows if (r["game"], r["strategy"]) == ("maze", "mi"))
    mine = [
        getattr(one, measure.key)
        for one in findings.usual
        if (one.game, one.strategy) == ("maze", "mi")
    ]
    assert int(row["runs"]) == 3
    assert float(row["mean"]) == pytest.approx(np.mean(mine), rel=1e-12)
    assert float(row["deviation"]) == pytest.approx(np.std(mine), rel=1e-9)
    if measure.key == "gen_gap":
        assert float(row["paper_mean"]) == pytest.approx(7.5 - 5.0) and row["paper_spread"] == ""
    else:
        known = table()["maze", "mi", measure.key]
        assert (float(row["paper_mean"]), float(row["paper_spread"])) == known


def test_a_table_by_game_as_it_is_read():
    outcomes = [
        Outcome("maze", "uniform", 200, seed, train=9.0 + seed, test=5.0) for seed in (0, 1)
    ]
    findings = analyse(outcomes, **FEW)
    text = to_markdown(per_game(findings, MEASURES[0]))
    assert "| maze | 9.50 ± 0.50 (paper 9.3 ± 0.1) |" in text
    assert "per cent | 190.0 ± 10.0 (paper 153.1 ± 2.1) |" in text
    others = analyse([replace(one, num_levels=50) for one in outcomes], **FEW)
    assert "the paper, with 200 levels" in to_markdown(per_game(others, MEASURES[0]))


def test_every_number_stands_beside_that_of_the_untrained_agents():
    outcomes = [
        Outcome(
            *("maze", "uniform", 100, seed),
            train=8.0,
            test=6.0 + seed,
            information=2.0,
            untrained_train=3.0,
            untrained_test=2.5,
            untrained_information=0.5,
        )
        for seed in (0, 1)
    ]
    assert outcomes[0].learned_gen_gap == 1.5 and outcomes[0].learned_information == 1.5
    found = beside_untrained(analyse(outcomes, **FEW))
    text = to_markdown(found)
    assert "2.00 ± 0.00 (untrained 0.50 ± 0.00)" in text
    assert "1.50 ± 0.50 (untrained 0.50 ± 0.00)" in text  # GenGap
    assert "untrained not measured" in text  # accuracy
    rows = {row["measure"]: row for row in read_csv(to_csv(found))}
    assert float(rows["train"]["untrained_mean"]) == 3.0 and rows["train"]["runs"] == "2"


def test_high_scores_and_low_gaps_are_bold():
    scores = {"uniform": (9.0, 5.0), "mi": (4.0, 3.0)}  # train and test
    outcomes = [
        Outcome(
            "maze",
            name,
            200,
            seed,
            train + 0.1 * seed,
            test + 0.01 * seed,
            information=train + 0.1 * seed,
        )
        for name, (train, test) in scores.items()
        for seed in range(3)
    ]
    findings = analyse(outcomes, **FEW)
    bold = {
        measure.key: [cell.bold for cell in per_game(findings, measure).rows[0][1:]]
        for measure in MEASURES[:4]
    }
    assert bold == {
        "train": [True, False],
        "test": [True, False],
        "gen_gap": [False, True],
        "information": [False, True],
    }
    assert [cell.bold for cell in over_games(findings).rows[0][1:4]] == [True, True, False]
    assert "**4.10 ± 0.08**" in to_markdown(per_game(findings, MEASURES[3]))


def test_numbers_as_tables_show_them():
    for values, percent, expected in [
        ((5, 9.876, 0.123), False, "9.88 ± 0.12"),
        ((5, 12.34, 0.123), False, "12.3 ± 0.1"),
        ((5, 0.4567, 0.0123), True, "45.7 ± 1.2"),
        ((1, -0.0, math.nan), False, "0.00"),
        ((0, math.nan, math.nan), False, "–"),
    ]:
        assert plus_minus(Spread(*values), percent=percent) == expected


def test_correlations_stand_beside_the_papers(outcomes):
    rows = read_csv(to_csv(correlations(analyse(outcomes, **FEW))))
    mine = [row for row in rows if (row["x"], row["y"]) == ("information", "gen_gap")]
    assert [(row["over"], int(row["points"])) for row in mine] == [
        ("runs", 45),
        ("means of seeds", 15),
        ("paper, its runs", 400),
        ("paper, its printed means", 80),
    ]
    assert float(mine[2]["pearson"]) == 0.6 and mine[2]["within"] == ""
    assert float(mine[3]["pearson"]) == pytest.approx(0.741, abs=0.0015)
    losses = [row for row in rows if row["y"] == "value_loss"]
    assert [row["over"] for row in losses] == ["runs", "means of seeds", "paper, its runs"]


def test_green_is_a_higher_score_and_a_lower_gap(outcomes):
    shown = probabilities_of_improvement(analyse(outcomes, **FEW))
    assert [row[0].main for row in shown.rows] == [
        "value-l1+uniform against value-l1",
        "value-l1+mi against value-l1",
        "value-l1 against uniform",
        "mi against uniform",
    ]
    for row in shown.rows:
        assert row[1].share == pytest.approx(float(row[1].main), abs=0.006)
        assert row[2].share == pytest.approx(1 - float(row[2].main), abs=0.006)


def test_the_table_of_levels_has_a_row_for_each_number(outcomes):
    rows = sizes(analyse(outcomes, **FEW)).rows
    assert [tuple(cell.main for cell in row[:3]) for row in rows] == [
        ("miner", "uniform", "200"),
        ("miner", "uniform", "500"),
        ("miner", "value-l1", "200"),
        ("miner", "value-l1", "500"),
    ]


def test_every_run_is_listed_with_what_is_known(outcomes):
    rows = read_csv(to_csv(all_outcomes(outcomes)))
    assert len(rows) == len(outcomes)
    bare = read_csv(to_csv(all_outcomes([Outcome("maze", "mi", 200, 3, 2.5, 1.0)])))
    assert bare == [
        {
            **dict.fromkeys(rows[0], ""),
            **{"game": "maze", "strategy": "mi", "num_levels": "200", "seed": "3"},
            **{"train": "2.5", "test": "1.0", "gen_gap": "1.5"},
        }
    ]


def test_a_single_run_makes_a_report_that_says_what_it_cannot(tmp_path):
    write_report([Outcome("maze", "mi", 20, 0, 3.0, 1.0)], tmp_path / "report", repeats=10)
    text = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert parsed(tmp_path / "report").open == []
    for said in (
        "One agent, trained on a few levels of maze",
        "not normalised in games where uniform was not run or got nothing: maze.",
        "I(L; b), nats was not measured in 1 of 1 runs.",
        "There are too few measurements to compare.",
        "None of the paper's pairs of strategies was run in the same game.",
        "No game was trained on several numbers of levels.",
        "There are no learning curves in what was given.",
        "One seed, so without intervals.",
    ):
        assert said in text, said
    assert not (tmp_path / "report" / "figures").exists()


def test_what_is_missing_is_said(tmp_path):
    some = [one for one in like_the_paper() if (one.game, one.strategy) != ("maze", "mi")]
    some = [one for one in some if one.game != "miner" or one.seed == 0]
    write_report(some, tmp_path / "report", repeats=10)
    text = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "Not run with 200 levels: mi in maze." in text
    assert "Games have different numbers of seeds." in text


def test_names_are_no_markup(tmp_path):
    outcomes = [Outcome("<i>maze", "<b>|mine", 200, seed, 3.0 + seed, 1.0) for seed in (0, 1)]
    write_report(outcomes, tmp_path / "report", repeats=10)
    text = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "<i>" not in text and "<b>" not in text
    table = (tmp_path / "report" / "tables" / "test.md").read_text(encoding="utf-8")
    assert "| Game | <b>\\|mine |" in table


def test_a_folder_that_is_no_report_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(OutputError, match=r"not just a former report: it holds 'notes.txt'"):
        write_report(like_the_paper(), tmp_path / "mine")
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "notes.txt"]


def test_a_former_report_is_replaced_and_nothing_is_left_of_a_failed_one(tmp_path):
    one = Outcome("maze", "mi", 20, 0, 3.0, 1.0)
    write_report([one], tmp_path / "report", repeats=10)
    before = (tmp_path / "report" / "report.html").read_bytes()
    with pytest.raises(DatasetError, match="two outcomes"):
        write_report([one, one], tmp_path / "report", repeats=10)
    assert (tmp_path / "report" / "report.html").read_bytes() == before
    write_report([one, replace(one, seed=1)], tmp_path / "report", repeats=10)
    assert (tmp_path / "report" / "report.html").read_bytes() != before
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


# Curves


def test_curves_are_means_over_seeds_for_as_long_as_all_have_values():
    outcomes = [Outcome("maze", "mi", 200, seed, 0.0, 0.0) for seed in (0, 1)]
    curves = {
        outcomes[0].run: [
            {"transitions": 10, "gen_gap": 1.0},
            {"transitions": 20, "gen_gap": 2.0},
            {"transitions": 30, "gen_gap": math.nan},
            {"transitions": 40, "gen_gap": "broken"},
            {"transitions": 50, "entropy": 1.0},
        ],
        outcomes[1].run: [
            {"transitions": 10, "gen_gap": 9.0},
            {"transitions": 10, "gen_gap": 3.0},  # logged again after a restart
            {"transitions": 20, "gen_gap": 2},
            {"transitions": 30, "gen_gap": 1.0},
        ],
        ("heist", "mi", 200, 0): [{"transitions": 10, "gen_gap": 5.0}],  # not among the outcomes
    }
    found = curves_by_game(outcomes, curves, "gen_gap")
    assert list(found) == ["maze"]
    when, mean, error = found["maze"]["mi"]
    assert when.tolist() == [10, 20] and mean.tolist() == [2.0, 2.0]
    assert error.tolist() == pytest.approx([1.0, 0.0])  # √2 / √2
    assert curves_by_game(outcomes, curves, "return/test") == {}


def test_between_two_values_a_curve_goes_straight():
    outcomes = [Outcome("maze", "mi", 200, seed, 0.0, 0.0) for seed in (0, 1, 2)]
    logged = [{0: 0.0, 30: 3.0}, {10: 1.0, 20: 8.0, 40: 1.0}]
    curves = {
        one.run: [{"transitions": when, "entropy": value} for when, value in some.items()]
        for one, some in zip(outcomes, logged, strict=False)  # the third has no metrics
    }
    found = curves_by_game(outcomes, curves, "entropy")["maze"]["mi"]
    assert found.updates.tolist() == [10, 20, 30]
    assert found.mean.tolist() == [1.0, 5.0, 3.75]
    apart = {one.run: [{"transitions": 10 * one.seed, "entropy": 1.0}] for one in outcomes}
    assert curves_by_game(outcomes, apart, "entropy") == {}
    assert curves_over_games(outcomes, apart, "entropy", normalise=False) == {}


def test_curves_over_games_are_normalised_and_of_the_same_games():
    outcomes = [
        Outcome("maze", "uniform", 200, 0, train=8.0, test=4.0),
        Outcome("heist", "uniform", 200, 0, train=8.0, test=2.0),
        Outcome("maze", "mi", 200, 0, train=8.0, test=1.0),
    ]
    curves = {one.run: [{"transitions": 16_384, "return/train": one.train}] for one in outcomes}
    found = curves_over_games(outcomes, curves, "return/train", normalise=True)
    assert {name: one.mean.tolist() for name, one in found.items()} == {
        "uniform": [2.0],
        "mi": [2.0],
    }
    raw = curves_over_games(outcomes[:2], curves, "return/train", normalise=False)
    assert raw["uniform"].mean.tolist() == [8.0] and raw["uniform"].error is None
    assert curves_over_games(outcomes, {}, "return/train", normalise=True) == {}


def test_the_error_of_a_mean_over_games_is_that_of_independent_games():
    outcomes = [
        Outcome(game, "mi", 200, seed, 0.0, 0.0) for game in ("maze", "heist") for seed in (0, 1)
    ]
    values = {"maze": (1.0, 3.0), "heist": (0.0, 8.0)}  # standard errors 1 and 4
    curves = {
        one.run: [{"transitions": 1, "entropy": values[one.game][one.seed]}] for one in outcomes
    }
    (found,) = curves_over_games(outcomes, curves, "entropy", normalise=False).values()
    assert found.mean.tolist() == [3.0]
    assert found.error.tolist() == pytest.approx([math.sqrt(17) / 2])


def test_figures_without_anything_to_show_are_left_out():
    only = analyse([Outcome("maze", "uniform", 200, 0, 3.0, 1.0)], **FEW)
    assert set(all_figures(only, {})) == {"over-games"}


def test_means_over_games_are_shown_with_their_intervals(outcomes):
    shown = over_games(analyse(outcomes, **FEW))
    assert [cell.main for cell in shown.rows[0]][:1] == ["uniform"]
    assert shown.rows[0][2].main == "1.000"
    assert re.fullmatch(r"[\d.]+ to [\d.]+", shown.rows[0][2].extra)
    assert {row[1] for row in shown.data} == {measure.over_games for measure in MEASURES}

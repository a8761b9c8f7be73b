"""The paper's claims, asked about runs with numbers of our choice."""

import math

import numpy as np
import pytest

from dred.evaluation.statistics import Interval
from dred.metrics import METRICS
from dred.presets import METHODS
from dred.reports.claims import CLAIMS
from dred.reports.content import compute
from dred.reports.gather import gather
from dred.reports.page import page_of
from dred.reports.paper import SUITES, printed
from dred.reports.verdicts import FAILS, HOLDS, OPEN, difference, verdict_of
from tests.reports.made_up import metric_rows, write_run

SEEDS = (0, 1, 2)
STEP = {"train": 0.004, "test": 0.01, "edge": 0.01}  # from seed to seed


def test_a_claim_holds_where_the_whole_interval_is_on_its_side():
    assert verdict_of(Interval(0.01, 0.2), 1.0, to_zero=False) == HOLDS
    assert verdict_of(Interval(-0.2, -0.01), 1.0, to_zero=False) == FAILS
    assert verdict_of(Interval(-0.01, 0.2), 1.0, to_zero=False) == OPEN
    assert verdict_of(Interval(math.nan, math.nan), 1.0, to_zero=False) == OPEN


def test_near_zero_is_within_a_tenth_of_the_largest_return():
    assert verdict_of(Interval(-0.09, 0.1), 1.0, to_zero=True) == HOLDS
    assert verdict_of(Interval(-0.9, 1.0), 10.0, to_zero=True) == HOLDS
    assert verdict_of(Interval(0.05, 0.15), 1.0, to_zero=True) == OPEN
    assert verdict_of(Interval(0.11, 0.15), 1.0, to_zero=True) == FAILS
    assert verdict_of(Interval(-0.3, -0.2), 1.0, to_zero=True) == FAILS


def test_two_seeds_or_seeds_that_do_not_differ_decide_nothing():
    three = np.array([0.8, 0.9, 0.85])
    assert math.isnan(difference(three, np.array([0.1, 0.2])).low)
    assert math.isnan(difference(three, np.full(3, 0.1)).low)
    assert difference(three, three - 0.5).low > 0


def test_every_claim_names_methods_suites_and_metrics_that_exist():
    names = {metric.name for metric in METRICS}
    for claim in CLAIMS:
        assert claim.comparisons
        for one in claim.comparisons:
            assert one.more in METHODS and (one.less in METHODS or not one.less)
            assert one.suite in SUITES if one.suite else one.metric in names


def test_the_papers_own_means_are_on_the_claimed_side_but_where_it_says_so():
    # Replay beats uniform draws on edge cases and held-out levels by one to three hundredths, and
    # loses by two on Hardcore.
    against = []
    for claim in CLAIMS:
        for one in claim.comparisons:
            more, less = (printed(one.metric, one.suite, method) for method in one[2:])
            if more is not None and less is not None and not more.mean > less.mean:
                against.append((claim.name, one.suite or one.metric, one.more, one.less))
    assert against == [("replay", "hardcore", "plr", "uniform")]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two methods, three seeds each: vae-dred better on test, worse on edge; a smaller GenGap."""
    folder = tmp_path_factory.mktemp("claims")
    returns = {
        "vae-dred": {"train": 0.9, "test": 0.85, "edge": 0.3},
        "uniform": {"train": 0.95, "test": 0.6, "edge": 0.5},
    }
    shift = {"vae-dred": 0.02, "uniform": 0.5}

    def rows(method, seed):
        values = {
            "shift_gap": [shift[method] + 0.01 * seed],
            "jsd_distance": [0.1 + 0.01 * seed],
            "mutual_information": [2.0 - returns[method]["test"] - 0.01 * seed],
        }
        return metric_rows(seed, [12], values)

    return [
        write_run(
            folder / method,
            method,
            {},
            seeds=SEEDS,
            suites={
                suite: (np.stack([np.full(6, value + STEP[suite] * k) for k in (-1, 0, 1)]), None)
                for suite, value in means.items()
            },
            rows=[row for seed in SEEDS for row in rows(method, seed)],
            with_levels=False,
        ).path
        for method, means in returns.items()
    ]


def test_a_report_says_of_each_claim_what_these_runs_show(runs, without_figures):
    content = compute(gather(runs), episodes=0)
    table = content.tables["claims"]
    places = [table.data_header.index(name) for name in ("claim", "metric", "suite", "verdict")]
    found = {tuple(row[place] for place in places) for row in table.data}
    assert found == {
        ("grounded", "mean_return", "test", HOLDS),
        ("grounded", "mean_return", "edge", FAILS),
        ("gen-gap", "gen_gap", "", HOLDS),
        ("shift-gap-near-zero", "shift_gap", "", HOLDS),
        ("order", "gen_gap", "", HOLDS),
    }
    assert "4 comparisons" in table.note and "3 came out as the paper says, 1 the other way" in (
        table.note
    )
    page = page_of(content, [])
    assert "Claims of the paper" in page and "does not hold" in page


def test_the_papers_numbers_stand_beside_levels_of_its_own_number_only(runs, without_figures):
    table = compute(gather(runs), episodes=0).tables["claims"]
    place = table.data_header.index("paper_more")
    assert all(math.isnan(row[place]) for row in table.data if row[2])


def test_a_single_method_makes_no_comparison(runs, without_figures):
    content = compute(gather(runs[1:]), episodes=0)
    assert not [row for row in content.tables["claims"].data if row[0] != "order"]

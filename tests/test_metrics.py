"""Metrics are declared once, and the documents say what is declared."""

from pathlib import Path

import pytest

from dred import metrics
from dred.metrics import METRICS, Metric, as_table, in_section, of_features
from dred.task import Feature
from dred.tasks.gridworld.task import GRIDWORLD

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"


def test_the_document_is_what_the_declarations_give(capsys):
    metrics.main()
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index("## In every run"), text.index("## The estimate of I(L; b)")
    assert text[begin:end].strip() == capsys.readouterr().out.strip(), (
        "docs/metrics.md is not what `python -m dred.metrics` prints."
    )


def test_every_metric_is_declared_once_with_a_meaning():
    names = [metric.name for metric in (*METRICS, *of_features(GRIDWORLD.features))]
    assert len(names) == len(set(names))
    for metric in METRICS:
        assert metric.meaning, metric.name
        assert metric.label or metric.name in ("seed", "update")
        assert (metric.shown == "") == (metric.section == "")


def test_a_feature_of_a_task_joins_by_itself():
    features = {"length": Feature("length"), "wet": Feature("wet cells", percent=True)}
    length, wet = in_section("replayed", features)[:2]
    assert (length.title, length.meaning) == ("Length", "mean under P_Λ of length")
    assert wet.row == "wet cells, per cent" and wet.percent
    assert [one.name for one in in_section("gaps", features)] == [
        one.name for one in METRICS if one.section == "gaps"
    ]


def test_a_table_in_markdown():
    some = (
        Metric("a", "A", "share", "higher", "", "", "|x|"),
        Metric("b", "B", "nats", "", "", "", "y"),
    )
    assert as_table(some).splitlines()[2:] == [
        "| `a` | \\|x\\| | share | higher |",
        "| `b` | y | nats |  |",
    ]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_titles_begin_with_a_capital_and_end_with_the_unit(metric):
    assert metric.title[:1] == metric.title[:1].upper()
    assert metric.title.endswith("" if metric.percent else metric.unit)
    assert metric.row.endswith("per cent" if metric.percent else metric.unit)

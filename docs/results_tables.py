"""Keep the tables of docs/results.md true to the numbers in docs/tables.

    python docs/results_tables.py                                  print the tables
    python docs/results_tables.py --write                          put them into docs/results.md
    python docs/results_tables.py --collect REPORT RUN [RUN …]     take numbers from a report

REPORT is a folder that `dred report` wrote, and the runs are those of that report. Of the former,
`docs/tables/laptop/` gets what the page shows; of the latter, `docs/tables/laptop.csv` has a line
for each seed.
"""

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

from dred.files import replacing, write_text
from dred.reports.claims import CLAIMS
from dred.reports.paper import printed
from dred.reports.scores import read_evaluation
from dred.reports.verdicts import OPEN
from dred.runs import open_run

DOCS = Path(__file__).parent
PAGE = DOCS / "results.md"
TABLES, RUNS = DOCS / "tables" / "laptop", DOCS / "tables" / "laptop.csv"
SUITES = {"train": "train", "test": "held out", "edge": "edge", "hardcore": "Hardcore"}
UNSEEN = ("test", "edge", "hardcore")
FROM_REPORT = {"solved-rate": "", "mean-return": "", "gaps": "", "claims": ""} | {
    f"{name}-{suite}": suite for name, suite in product(("summary", "improvement"), SUITES)
}
LIVE = ("shift_gap", "jsd_distance", "effective_levels_averaged", "mutual_information")
BASELINE = "uniform"

Row = dict[str, str]


def collect(report: Path, runs: Iterable[Path]) -> None:
    """Take what is shown from a report and its runs."""
    found: dict[str, list[Row]] = {}
    for name, suite in FROM_REPORT.items():
        rows = read(report / "tables" / f"{name}.csv")
        more = {"suite": suite} if suite else {}
        found.setdefault(name.removesuffix(f"-{suite}"), []).extend(more | row for row in rows)
    TABLES.mkdir(exist_ok=True)
    for name, rows in found.items():
        write(TABLES / f"{name}.csv", rows)
    write(RUNS, sorted((row for run in runs for row in rows_of(run)), key=by_method_and_seed))


def rows_of(path: Path) -> Iterator[Row]:
    """Yield what each seed of a run came to: by its evaluation, and by training's last look."""
    run = open_run(path)
    scores, last = read_evaluation(run), {row["seed"]: row for row in run.metrics()}
    for index, seed in enumerate(run.seeds):
        solved = {f"solved/{s}": scores[s].solved[index].mean() for s in SUITES}
        returned = {f"return/{s}": scores[s].returned[index].mean() for s in SUITES}
        gap = {"gen_gap": returned["return/train"] - returned["return/test"]}
        numbers = solved | returned | gap | {name: last[seed][name] for name in LIVE}
        named = {"method": run.config.method.name, "seed": str(seed)}
        yield named | {name: f"{number:.6f}" for name, number in numbers.items()}


def by_method_and_seed(row: Row) -> tuple[str, int]:
    """The order of runs."""
    return row["method"], int(row["seed"])


def read(file: Path) -> list[Row]:
    """The lines of a table."""
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def write(file: Path, rows: Sequence[Row]) -> None:
    """Write a table."""
    with replacing(file) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def one(rows: Iterable[Row], **wanted: str) -> Row:
    """The line that has these values."""
    (found,) = (row for row in rows if wanted.items() <= row.items())
    return found


def methods() -> list[str]:
    """The methods, best on unseen levels first."""
    rows = read(TABLES / "solved-rate.csv")
    names = dict.fromkeys(row["method"] for row in rows)

    def solved(name: str) -> float:
        return sum(float(one(rows, suite=suite, method=name)["mean"]) for suite in UNSEEN)

    return sorted(names, key=solved, reverse=True)


def spread(row: Row, digits: int, scale: float = 1.0) -> str:
    """A mean with its standard deviation over seeds, if there are several."""
    mean = f"{scale * float(row['mean']):.{digits}f}"
    has_several = int(row["seeds"]) > 1
    return f"{mean} ± {scale * float(row['deviation']):.{digits}f}" if has_several else mean


def short(number: str) -> str:
    """A number below one, without its zero."""
    return f"{float(number):.2f}".replace("0.", ".", 1)


def with_interval(row: Row, value: str) -> str:
    """A number with its 99 % interval, where there is one."""
    ends = [short(row[end]) for end in ("low_99", "high_99") if row[end]]
    return f"{short(value)} ({'–'.join(ends)})" if ends else short(value)


def in_markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table."""
    align = f"|---|{'--:|' * (len(header) - 1)}"
    rows = [f"| {' | '.join(row)} |" for row in (header, *lines)]
    return "\n".join([rows[0], align, *rows[1:]]) + "\n"


def solved_table() -> str:
    """Solved in per cent and mean return, and the paper's solved rates."""
    solved, returned = read(TABLES / "solved-rate.csv"), read(TABLES / "mean-return.csv")

    def line(name: str) -> list[str]:
        cells = [
            f"{spread(one(solved, suite=suite, method=name), 1, 100.0)} "
            f"({short(one(returned, suite=suite, method=name)['mean'])})"
            for suite in SUITES
        ]
        known = [printed("solved_rate", suite, name) for suite in SUITES]
        paper = ", ".join(f"{100 * value.mean:.0f}" for value in known if value is not None)
        seeds = one(solved, suite="train", method=name)["seeds"]
        return [f"`{name}`", seeds, *cells, paper]

    return in_markdown(["method", "seeds", *SUITES.values(), "the paper"], map(line, methods()))


def gaps_table() -> str:
    """What is measured at the end of training."""
    rows = read(TABLES / "gaps.csv")
    columns = {
        "gen_gap": ("GenGap", 3),
        "shift_gap": ("ShiftGap", 3),
        "jsd_distance": ("JS distance", 3),
        "effective_levels_averaged": ("effective levels", 0),
        "mutual_information": ("I(L; b), nats", 2),
    }

    def line(name: str) -> list[str]:
        cells = [
            spread(one(rows, metric=metric, method=name), digits)
            for metric, (_, digits) in columns.items()
        ]
        return [f"`{name}`", *cells]

    return in_markdown(["method", *(title for title, _ in columns.values())], map(line, methods()))


def aggregates_table() -> str:
    """IQM, the mean over the worst tenth of levels, and the optimality gap, with intervals."""
    rows = read(TABLES / "summary.csv")
    columns = {"interquartile_mean": "IQM", "cvar_10": "CVaR", "optimality_gap": "gap"}

    def line(name: str) -> list[str]:
        cells: list[str] = []
        for suite, aggregate in product(UNSEEN, columns):
            row = one(rows, suite=suite, method=name, aggregate=aggregate)
            cells.append(with_interval(row, row["value"]))
        return [f"`{name}`", *cells]

    titles = [f"{SUITES[suite]}: {columns[name]}" for suite, name in product(UNSEEN, columns)]
    return in_markdown(["method", *titles], map(line, methods()))


def improvement_table() -> str:
    """How often a run of a method beats one of the baseline, and how often in a single level."""
    rows, runs = read(TABLES / "improvement.csv"), read(RUNS)

    def wins(name: str, suite: str) -> str:
        ours, theirs = (
            [float(row[f"return/{suite}"]) for row in runs if row["method"] == method]
            for method in (name, BASELINE)
        )
        pairs = [(a > b) + (a == b) / 2 for a, b in product(ours, theirs)]
        return short(str(sum(pairs) / len(pairs)))

    def line(name: str) -> list[str]:
        cells: list[str] = []
        for suite in UNSEEN:
            row = one(rows, suite=suite, method=name, other=BASELINE)
            cells += [wins(name, suite), with_interval(row, row["probability"])]
        return [f"`{name}`", *cells]

    titles = [f"{SUITES[suite]}: {what}" for suite in UNSEEN for what in ("runs", "in a level")]
    others = (name for name in methods() if name != BASELINE)
    return in_markdown(["method", *titles], map(line, others))


def claims_table() -> str:
    """Each claim of the paper, what it comes down to, and what these runs say."""
    words = {claim.name: claim.words for claim in CLAIMS}
    lines: list[list[str]] = []
    before = ""
    for row in read(TABLES / "claims.csv"):
        name = row["claim"]
        verdict = row["verdict"] if row["verdict"] == OPEN else f"**{row['verdict']}**"
        if name not in words:  # correlations, which have no two methods
            continue
        sides = f"`{row['more']}` over " + (f"`{row['less']}`" if row["less"] else "zero")
        where = SUITES.get(row["suite"], "") or row["metric"].replace("_", " ")
        ours = f"{float(row['mean_more']):.2f}, {float(row['mean_less'] or 0):.2f}"
        said = words[name] if name != before else ""
        lines.append([said, where, sides, ours, interval_of(row), paper_of(row), verdict])
        before = name
    header = ["claim", "measured", "of", "ours", "95 % of the difference", "the paper", ""]
    return in_markdown(header, lines)


def interval_of(row: Row) -> str:
    """The interval of a difference, where there are seeds enough for one."""
    has_one = row["low_95"] and row["high_95"]
    return f"{float(row['low_95']):+.2f} to {float(row['high_95']):+.2f}" if has_one else "–"


def paper_of(row: Row) -> str:
    """What the paper prints of both sides."""
    known = [row[side] for side in ("paper_more", "paper_less") if row[side]]
    return ", ".join(f"{float(number):.2f}" for number in known)


SECTIONS = {
    "methods": solved_table,
    "aggregates": aggregates_table,
    "improvement": improvement_table,
    "gaps": gaps_table,
    "claims": claims_table,
}


def page_with_tables() -> str:
    """The page, with the tables as the numbers are."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in SECTIONS.items():
        begin, end = f"<!-- table {name}: begin -->\n", f"<!-- table {name}: end -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"{PAGE} must hold the line {begin.strip()} once, and {end} once.")
        head, rest = text.split(begin)
        text = f"{head}{begin}\n{table()}\n{end}{rest.split(end)[1]}"
    return text


def main() -> None:
    """Print, write or collect."""
    words = sys.argv[1:]
    if words[:1] == ["--collect"]:
        collect(Path(words[1]), [Path(word) for word in words[2:]])
    elif words == ["--write"]:
        write_text(PAGE, page_with_tables())
    else:
        for name, table in SECTIONS.items():
            print(f"{name}\n\n{table()}")


if __name__ == "__main__":
    main()

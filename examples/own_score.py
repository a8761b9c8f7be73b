"""A score and a method of one's own, compared with PLR on two seeds. Nothing in dred is edited.

python examples/own_score.py           # some minutes
python examples/own_score.py smoke     # just to see that it works

The file is also a plug-in: dred train longing --plugin examples/own_score.py --levels …
"""

import sys

import dred


@dred.register_score("longing")
def longing(trace):
    """Return how far what the critic expects is from the best return that is possible."""
    return trace.optimal - trace.value


dred.register_method(dred.Method("longing", primary=dred.Term("longing")))


def main(preset="laptop"):
    """Train both methods, evaluate them and compare them on one page."""
    count = 16 if preset == "smoke" else 512
    levels = dred.levels.make("cave-escape-train", count=count)
    held_out = dred.levels.make("cave-escape-test", count=count)
    runs = []
    for method in ("plr", "longing"):
        run = dred.train(
            method,
            levels=levels,
            out=f"runs/{method}",
            preset=preset,
            seeds=(0, 1),
            plugins=[__file__],
        )
        print(method, dred.evaluate(run, suites={"held out": held_out}), sep="\n")
        runs.append(run)
    print(dred.report(runs, out="report"))


if __name__ == "__main__":
    main(*sys.argv[1:])

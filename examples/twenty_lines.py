"""Levels, an agent, an evaluation and a report, in twenty lines.

python examples/twenty_lines.py           # some minutes
python examples/twenty_lines.py smoke     # just to see that it works
"""

import sys

import dred

preset = sys.argv[1] if len(sys.argv) > 1 else "laptop"
count = 16 if preset == "smoke" else 512

levels = dred.levels.make("cave-escape-train", count=count)
held_out = dred.levels.make("cave-escape-test", count=count)
runs = [
    dred.train(method, levels=levels, held_out=held_out, out=f"runs/{method}", preset=preset)
    for method in ("uniform", "plr")
]
for run in runs:
    print(dred.evaluate(run, suites={"held out": held_out}))
print(dred.report(runs, out="report"))

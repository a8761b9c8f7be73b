"""A sweep: three values of a setting, two seeds each, and a plot of what came of it.

python examples/sweep.py           # some minutes
python examples/sweep.py smoke     # just to see that it works
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import dred

preset = sys.argv[1] if len(sys.argv) > 1 else "laptop"
count = 16 if preset == "smoke" else 512
values = (0.1, 0.3, 1.0)

levels = dred.levels.make("cave-escape-train", count=count)
held_out = dred.levels.make("cave-escape-test", count=count)
solved = []
for temperature in values:
    run = dred.train(
        "plr",
        levels=levels,
        out=f"runs/temperature-{temperature}",
        preset=preset,
        seeds=(0, 1),
        set={"method.primary.temperature": temperature},
    )
    found = dred.evaluate(run, suites={"held out": held_out})["held out"]
    solved.append(found.solved.reshape(2, -1).mean(axis=1))  # of each seed

figure, axes = plt.subplots(layout="constrained")
axes.plot(values, 100 * np.array(solved), "o", color="tab:blue")
axes.plot(values, 100 * np.mean(solved, axis=1), color="tab:blue")
axes.set(xscale="log", xlabel="temperature of P_S", ylabel="held-out levels solved (%)")
figure.savefig("sweep.png")

"""A study on a Ray cluster, watched while it runs: a cell at a time in a notebook, or as a script.

python examples/cluster.py           # an hour on two cores
python examples/cluster.py smoke     # just to see that it works
"""

# %% A cluster, here of this machine alone. On several, run `ray start --head` on the first and what
# it prints on the others, and leave this cell out.
import os
import subprocess
import sys
import time
from pathlib import Path

import ray

import dred

cluster = ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

# %% A study: two methods, two seeds. Its folder must be one that all machines see.
preset = sys.argv[1] if len(sys.argv) > 1 else "laptop"
count = 16 if preset == "smoke" else 512
dred.levels.make("cave-escape-train", count=count).save("train.npz")
dred.levels.make("cave-escape-test", count=count).save("test.npz")
Path("compared.toml").write_text(f"""
methods = ["uniform", "plr"]
seeds = [0, 1]
preset = "{preset}"
levels = "train.npz"
held_out = "test.npz"
suites = []
""")

# %% It runs beside this notebook. `study.send_signal(signal.SIGINT)`, as Ctrl-C, lets all runs save
# and end; this cell once more goes on from there. Machines may come and go meanwhile.
study = subprocess.Popen(
    [sys.executable, "-m", "dred", "study", "run", "compared.toml", "--on", "ray", "--cpus", "1"],
    env={**os.environ, "RAY_ADDRESS": cluster["gcs_address"]},
)

# %% What is finished, as it comes: a line for each run.
summary, lines = Path("compared/summary.csv"), 1
while study.poll() is None:
    found = summary.read_text().splitlines() if summary.exists() else []
    for line in found[lines:]:
        print(dict(zip(found[0].split(","), line.split(","), strict=True)))
    lines = max(lines, len(found))
    time.sleep(1)

# %% And all of it on a page.
print("compared/report/report.html" if study.returncode == 0 else "it failed; see compared/logs")
ray.shutdown()

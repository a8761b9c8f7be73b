"""Run folders written by hand, with numbers of our choice and without any training."""

import json
from dataclasses import replace

import numpy as np

from dred.evaluation.suites import HEADER, over_training_in
from dred.presets import train_config
from dred.run_folder import create_run
from dred.tasks.gridworld.levels.dataset import concatenate
from dred.tasks.gridworld.presets import GRIDWORLD_BUDGETS
from dred.training.saved import SavedBuffer, save_levels


def write_run(
    path,
    method,
    levels,
    *,
    seeds=(0,),
    suites=None,
    rows=None,
    kept=None,
    budget="smoke",
    num_updates=12,
    with_levels=True,
):
    """A finished run: `levels` are files by name, `suites` returns [seed, level] by name."""
    config = replace(train_config(method, budget, GRIDWORLD_BUDGETS), num_updates=num_updates)
    noted = {name: {"path": str(file), "digest": digest} for name, (file, digest) in levels.items()}
    told = {"seeds": seeds, "levels": noted, "command": ["dred", "train"]}
    run = create_run(path, task="gridworld", config=config, **told)
    run.append_metrics(rows or [])
    run.note(status="finished", ended=run.record.started)
    for name, (returned, dataset) in (suites or {}).items():
        write_suite(run, name, returned, dataset if with_levels else None)
    for update, saved in (kept or {}).items():
        file = path / "levels" / f"update-{update:08d}-seed-{seeds[0]}.npz"
        save_levels(file, saved, run.task.level_format)
    return run


def write_suite(run, name, returned, dataset=None, *, update=12, greedy=False, over_training=False):
    """The files of an evaluation, as `dred evaluate` writes them."""
    folder = run.path / "evaluation"
    if over_training:
        folder = over_training_in(run) / f"{update:08d}"
    folder.mkdir(exist_ok=True, parents=True)
    lines = [
        f"{seed},{name},{level},0,{int(value > 0)},{value:.6f},10"
        for seed, row in zip(run.seeds, returned, strict=True)
        for level, value in enumerate(row)
    ]
    (folder / f"{name}.csv").write_text("\n".join([HEADER, *lines]) + "\n")
    if dataset is not None:
        dataset.save((folder.parent if over_training else folder) / f"{name}.npz")
        task = {"digest": dataset.digest, "update": update, "episodes": 1, "seed": 0}
        (folder / f"{name}.json").write_text(json.dumps({**task, "greedy": greedy}))


def family(dataset):
    """A buffer with a line of descent: level 2 of the dataset, its child 20, its grandchild 21."""
    chosen = [dataset[[5, 6, 2]], dataset[[0]]]
    levels = replace(
        concatenate(chosen), structure=np.array(["edits", "edits", "dataset", "dataset"])
    )
    return SavedBuffer(
        levels=levels,
        probability=np.array([0.4, 0.3, 0.2, 0.1]),
        score=np.array([0.9, 0.5, 0.25, np.nan]),
        best=np.array([1.0, 0.5, 0.0, 0.0]),
        number=np.array([21, 20, 2, 0]),
        parent=np.array([20, 2, -1, -1]),
        generation=np.array([2, 1, 0, 0]),
        birth=np.array([9, 3, 0, 0]),
        average=np.array([0.25, 0.25, 0.25, 0.25]),
    )


def metric_rows(seed, updates, metrics):
    """Lines of metrics.jsonl: each metric has a value for each update."""
    return [
        {
            "seed": seed,
            "update": update,
            **{name: values[place] for name, values in metrics.items()},
        }
        for place, update in enumerate(updates)
    ]

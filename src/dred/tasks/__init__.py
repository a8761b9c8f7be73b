"""One folder for each kind of problem: its levels, environment, generators and pictures."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dred.task import Task


def gymnasium(make_env: Any, **more: Any) -> "Task":  # noqa: ANN401  (see below)
    """Return any Gymnasium environment as a task whose levels are rows of a table.

    `make_env` is a function at the top of a file that returns an environment, where one is
    (`FILE.py:NAME`), or an id of Gymnasium's. An episode begins with
    `reset(seed=…, options={"level": {name: value}})`; or, with `set_level`, that function is called
    with the environment and the level, and then `reset(seed=…)`.

    Args:
        make_env: How an environment is made. If it takes `render_mode`, it is asked for pictures.
        **more: `levels`, a table of levels to train on (CSV, Parquet, `.npz` or a `LevelTable`) and
            `held_out`, one of others; `box`, the range of each number (by itself a little wider
            than the table), outside of which no level is made; `set_level`; `name`; `processes`, in
            which environments are (0 for none but this one); `max_return`; `solved`, the return
            from which on an episode counts as solved; `return_meaning`, a sentence; `labels`, words
            for the columns; `budgets`, presets of one's own.
    """
    from dred.tasks.hosted.task import gymnasium_task

    return gymnasium_task(make_env, **more)

"""What readers of a report should know before they compare."""

from collections.abc import Iterable, Sequence

from dred.reports.material import Method, Training


def updates_done(trainings: Iterable[Training]) -> int:
    """Updates that the metrics of all these agents speak of."""
    return min(
        max((int(row["update"]) for row in training.metrics), default=0) for training in trainings
    )


def describe(methods: Sequence[Method]) -> list[str]:
    """Return what readers should know before they compare."""
    notes: list[str] = []
    alone = [method.name for method in methods if len(method.trainings) == 1]
    if alone:
        notes.append(
            f"There is only one seed of {', '.join(alone)}. One seed says nothing about others, so "
            "there are no intervals over seeds and no tests for it."
        )
    for method in methods:
        notes += progress_notes(method)
    budgets = {method.name: method.config.num_updates for method in methods}
    if len(set(budgets.values())) > 1:
        shown = ", ".join(f"{name} {updates}" for name, updates in budgets.items())
        notes.append(f"Methods were trained for different numbers of updates: {shown}.")
    return notes


def progress_notes(method: Method) -> list[str]:
    """Return which runs of a method are not finished, and which suites show older agents."""
    wanted, everywhere = method.config.num_updates, updates_done(method.trainings)
    notes: list[str] = []
    for run in method.runs:
        done = updates_done(one for one in method.trainings if one.run == run)
        if done < wanted:
            notes.append(
                f"{run.path.name} ({method.name}) is not finished: {done} of {wanted} updates are "
                "done."
            )
    for suite, scores in method.scores.items():
        then = int(scores.task.get("update", everywhere))
        if then < everywhere:
            notes.append(
                f"{method.name} was evaluated on {suite} after {then} updates, but {everywhere} "
                "are done. Evaluate again to see the newest agents."
            )
    return notes

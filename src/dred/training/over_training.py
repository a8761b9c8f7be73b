"""How the agents of a run did in any levels while they trained, from the policies that it kept."""

from collections.abc import Callable, Mapping

from dred.evaluation.results import EvaluationConfig
from dred.evaluation.suites import Results, evaluate_run
from dred.run_folder import RunFolder
from dred.task import LevelSet
from dred.training.saved import kept_updates, policies_of


def evaluate_over_training(
    run: RunFolder,
    sets: Mapping[str, LevelSet],
    config_for: Callable[[LevelSet, int], EvaluationConfig],
    *,
    advance: Callable[[int], None] = lambda amount: None,
) -> dict[str, dict[int, Results]]:
    """Play every set with every policy that was kept; the results by set and update.

    What is there already is not played again. Headings and noise are the same at all updates, so a
    curve rises and falls with the agent, not with its luck. `advance` is told of levels played.
    """
    found: dict[str, dict[int, Results]] = {name: {} for name in sets}
    for update in kept_updates(run):
        agents = policies_of(run, update)
        for name, levels in sets.items():
            config = config_for(levels, update)
            found[name][update] = evaluate_run(
                run, agents, levels, name, config, over_training=True, advance=advance
            )
    return found

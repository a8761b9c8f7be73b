"""Runs of one method that differ in their settings, told apart by these."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from dred.runs import Run

DECISIVE = ("num_updates", "method", "agent", "ppo")  # settings that make another training
MOST_NAMED = 3  # settings in a name


def flattened(settings: Mapping[str, object], prefix: str = "") -> Iterable[tuple[str, object]]:
    """Yield settings within settings, as names with dots."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flattened({str(k): v for k, v in value.items()}, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def settings_of(run: Run) -> dict[str, str]:
    """Return all settings of a run, by names with dots."""
    return {name: str(value) for name, value in flattened(asdict(run.config))}


def differences(settings: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """Return the settings that are not the same in all, each with its value in each."""
    keys = dict.fromkeys(key for one in settings for key in one)
    values = {key: [one.get(key, "–") for one in settings] for key in keys}
    return {key: found for key, found in values.items() if len({*found}) > 1}


def variants_of(name: str, runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return the runs of one method; under names of their own if they were trained differently."""
    groups: dict[tuple[tuple[str, str], ...], list[Run]] = {}
    for run in runs:
        decisive = (kv for kv in settings_of(run).items() if kv[0].split(".")[0] in DECISIVE)
        groups.setdefault(tuple(decisive), []).append(run)
    if len(groups) == 1:
        return {name: list(runs)}
    apart = differences([dict(settings) for settings in groups])
    short = endings(apart)
    found: dict[str, list[Run]] = {}
    for place, mine in enumerate(groups.values()):
        words = ", ".join(f"{short[key]} {values[place]}" for key, values in apart.items())
        found[f"{name} ({words if len(apart) <= MOST_NAMED else place + 1})"] = mine
    return found


def endings(keys: Iterable[str]) -> dict[str, str]:
    """Return the shortest ending of each name with dots that no other of them has."""
    parts = {key: key.split(".") for key in keys}

    def is_unique(ending: list[str]) -> bool:
        return sum(other[-len(ending) :] == ending for other in parts.values()) == 1

    return {
        key: next(
            ".".join(part[-n:])
            for n in range(1, len(part) + 1)
            if n == len(part) or is_unique(part[-n:])
        )
        for key, part in parts.items()
    }


def variant_notes(groups: Iterable[tuple[str, Sequence[Run]]]) -> list[str]:
    """Return in which settings the runs of each method differ, if they do."""
    notes: list[str] = []
    for name, runs in groups:
        apart = differences([settings_of(run) for run in runs])
        if apart:
            told = "; ".join(f"{key} {', '.join(dict.fromkeys(v))}" for key, v in apart.items())
            notes.append(f"Runs of {name} differ in their settings: {told}.")
    return notes

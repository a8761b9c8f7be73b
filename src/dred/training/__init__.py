"""One update, many updates, and never losing a run."""

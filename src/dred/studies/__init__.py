"""Studies: methods × seeds, run to the end whatever happens in between."""

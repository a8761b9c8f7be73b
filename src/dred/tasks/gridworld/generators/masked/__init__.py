"""A masked model of levels: it fills in cells that are not known, in any order."""

"""Levels that are vectors of named numbers in a box: their files, generators and distance."""

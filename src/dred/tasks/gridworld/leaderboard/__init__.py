"""Generators compared: what their levels are like, how fast they are, on one page."""

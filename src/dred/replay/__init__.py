"""Which level next: the buffer of levels, their scores, and the distribution they are drawn from.

Nothing here knows what a level is.
"""

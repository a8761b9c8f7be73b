"""`dred studio`: a page, served on this machine alone, on the levels, models and runs of a folder.

The page asks, by the names of `places`, for what other parts of dred compute; nothing here knows a
rule of its own. `guard` lets in nobody else. `page/` has the page, which needs no other file.
"""

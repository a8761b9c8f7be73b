"""The verbs of the command line: one record per verb, whose fields are its options.

Only what a verb itself needs is imported, and only when it runs, so that `dred --help` is quick.
"""

"""`python -m dred` is `dred`."""

from dred.cli import main

main()

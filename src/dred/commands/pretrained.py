"""`dred pretrained`: the policies that come with dred."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pretrained:
    """List the policies that come with dred, and what they solved when they were measured.

    For example:
      dred pretrained
      dred play train.npz --agent vae-dred
    """

    def run(self) -> None:
        """Print the list."""
        from rich.console import Console
        from rich.table import Table

        from dred.pretrained import catalogue

        suites = list(dict.fromkeys(s for one in catalogue().values() for s in one["solved"]))
        table = Table("policy", *(f"solved, {suite}" for suite in suites))
        for name, noted in catalogue().items():
            solved = (noted["solved"].get(suite) for suite in suites)
            shares = ("–" if share is None else f"{share:.1%}" for share in solved)
            table.add_row(name, *shares)
        Console().print(table)
        for name, noted in catalogue().items():
            print(f"{name}: {noted['trained_with']}")
        print("Watch one with `dred play FILE.npz --agent NAME`; in Python: dred.pretrained.load.")

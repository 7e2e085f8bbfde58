"""`python -m benchmarks [starting] [running] [many_jobs] [--write]`: measures, prints the table, keeps it."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from benchmarks.figures import Figure, build_table, describe_machine

FIGURES = ("starting", "running", "many_jobs")
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
_HEAD = """# Benchmarks

`make bench` measures these and prints the table; `python -m benchmarks --write` rewrites this page with it.
Each figure stands beside a plain one that was taken in turns with it in the same run; medians, with the range in
parentheses. What each one does is said at the head of its module in `benchmarks/`.

Measured on: {machine}.

{table}
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(FIGURES)}")
    parser.add_argument("--write", action="store_true", help=f"rewrite {PAGE.name} with all figures")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.names) - set(FIGURES))
    if unknown:
        parser.error(f"there is no figure {unknown[0]!r}; there are {', '.join(FIGURES)}")
    if chosen.write and chosen.names:
        parser.error("--write needs all figures, so name none")
    figures: list[Figure] = []
    for name in chosen.names or FIGURES:
        print(f"measuring: {name}", file=sys.stderr)
        figures += importlib.import_module(f"benchmarks.{name}").measure()
    table = build_table(figures)
    print(f"{describe_machine()}\n\n{table}")
    if chosen.write:
        PAGE.write_text(_HEAD.format(machine=describe_machine(), table=table))
    return 0


if __name__ == "__main__":
    sys.exit(main())

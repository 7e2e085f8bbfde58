"""The value of CEL expressions for objects, as Flux asks them: the fields of an object are the variables."""

from __future__ import annotations

import json
import sys
from typing import Any

import cel


def look(expressions: list[str], objects: list[Any]) -> list[Any]:
    """For each object the number of the first expression that is true; -1 where none is."""
    found = []
    for each in objects:
        true = [number for number, expression in enumerate(expressions) if cel.evaluate(expression, each) is True]
        found.append(true[0] if true else -1)
    return found


if __name__ == "__main__":
    print(json.dumps(look(**json.load(sys.stdin))))

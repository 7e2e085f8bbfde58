"""Cases of a table, of which a few run in `make test` and the others in the slow tier."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def keep_light(cases: Iterable[Any], light: Collection[Any]) -> list[Any]:
    """For `parametrize`: the cases, of which those that are not in `light` are slow."""
    found = list(cases)
    assert set(light) <= set(found), f"no such cases: {sorted(set(light) - set(found))}"
    return [each if each in light else pytest.param(each, marks=pytest.mark.slow) for each in found]

"""Whatever a client sends is read, or refused in words: each reader by itself. `make fuzz` tries longer, and weighs."""

from __future__ import annotations

import pytest
from hypothesis import given

from apiserver.fuzz.judging import judge
from apiserver.fuzz.targets import TARGETS

_BYTES = 2_000


@pytest.mark.parametrize("name", TARGETS)
def test_any_input_is_read_or_refused(name: str) -> None:
    target = TARGETS[name]

    @given(target.inputs(_BYTES))
    def try_one(data: bytes) -> None:
        judge(target, data)

    try_one()

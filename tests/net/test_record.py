"""A record lacks no state."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from net import record
from net.states import STATES


def test_nothing_is_written_where_a_state_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    first = next(iter(STATES))

    def make(cluster: object, name: str, state: object) -> None:
        assert name != first, "it did not come in 45 seconds"

    monkeypatch.setattr(record, "open_cluster", lambda sandbox: nullcontext())
    monkeypatch.setattr(record, "prepare", lambda cluster: None)
    monkeypatch.setattr(record, "make", make)
    with pytest.raises(SystemExit) as ended:
        record.record("/home/ada")
    assert ended.value.code == f"nothing is written, as these states did not come: {first}"

"""What was looked at, in a sentence."""

from __future__ import annotations

from doctor.host.hosts import LAPTOP, NODE, with_peers
from paddock.doctor.host.endpoints import read_endpoint
from paddock.doctor.host.looked_at import explain_looked_at
from paddock.doctor.host.values import Asked


def test_peers_are_counted() -> None:
    said = explain_looked_at(with_peers(NODE), Asked())
    assert str(said) == "gpu-a (64 cores, 512 GiB, 2 GPUs, 2 interfaces) and 1 peer"


def test_without_peers_it_says_what_was_not_judged() -> None:
    said = explain_looked_at(LAPTOP, Asked())
    assert str(said) == (
        "laptop (4 cores, 16 GiB, 0 GPUs, 2 interfaces); no other machine was named (--peer), so names and "
        "networks were not judged"
    )
    said = explain_looked_at(LAPTOP, Asked((read_endpoint("localhost"),)))
    assert str(said).endswith(
        "; all that was named (--peer) is this machine itself, so names and networks were not judged"
    )

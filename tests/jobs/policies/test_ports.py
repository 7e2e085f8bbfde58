from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jobs.gangs import build_job, build_pods, build_status
from paddock.jobs.model import PORTS_IN_BLOCK
from paddock.jobs.policies.ports import FIRST_PORT, LAST_PORT, choose_port, kept_port, plan_one_port

LINUX_EPHEMERAL = 32_768
taken_ports = st.frozensets(st.integers(1, 65_535), max_size=200)


@given(st.text(), st.integers(0, 10**6), taken_ports)
def test_a_block_is_free_below_the_ephemeral_ports_and_the_same_each_time(
    uid: str, attempt: int, taken: frozenset[int]
) -> None:
    port = choose_port(uid, attempt, taken)
    assert port is not None
    block = range(port, port + PORTS_IN_BLOCK)
    assert not taken.intersection(block)
    assert block[0] >= FIRST_PORT
    assert block[-1] <= LAST_PORT < LINUX_EPHEMERAL
    assert choose_port(uid, attempt, taken) == port


def test_jobs_and_attempts_spread() -> None:
    assert len({choose_port(f"job-{number}", number % 3, frozenset()) for number in range(100)}) > 80


def test_a_hundred_jobs_at_once_get_a_hundred_blocks() -> None:
    taken: set[int] = set()
    for number in range(100):
        port = choose_port(f"job-{number}", 0, frozenset(taken))
        assert port is not None
        taken.add(port)
    assert len(taken) == 100


def test_none_when_all_are_taken() -> None:
    assert choose_port("job", 0, frozenset(range(FIRST_PORT, LAST_PORT + 1, PORTS_IN_BLOCK))) is None


def test_a_gang_keeps_its_port_and_has_one() -> None:
    job = build_job()
    assert kept_port(build_pods(job)) is None
    assert kept_port(build_pods(job, port=20_020)) == 20_020
    assert plan_one_port(build_status(job), build_pods(job, port=20_020)) is None
    assert plan_one_port(build_status(job), build_pods(job, port=20_020) + build_pods(job, port=20_040)) is not None

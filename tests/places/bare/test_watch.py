"""Ranks on machines: when they are stopped, when the job has ended, who failed first; and what machines answer."""

from __future__ import annotations

import pytest

from jobs.samples import read_sample
from paddock.jobs.model import Job, Rank
from paddock.places.bare.remote import NO_DIRECTORY, SSH_FAILED, TAKEN, Remote, compare_versions, explain_unfit
from paddock.places.bare.watch import SETTLE_SECONDS, End, State, decide

SERVERS = read_sample("wide_and_deep")
COLLECTIVE = read_sample("resnet")
REMOTE = Remote("/srv/job", "paddock-demo", "demo-a.sh", True)


def end(name: str, code: int | None, at: float = 1.0, tail: str = "", *, stopped: bool = False) -> End:
    role, _, index = name.rpartition("-")
    return End(Rank(role, int(index)), code, at, tail, stopped)


@pytest.mark.parametrize(
    ("job", "ends", "now", "state", "stopped"),
    [
        (COLLECTIVE, [], 1, State.RUNNING, ""),
        (COLLECTIVE, [end("worker-0", 0)], 1, State.RUNNING, ""),
        (COLLECTIVE, [end("worker-0", 0), end("worker-1", 0)], 1, State.COMPLETED, ""),
        (SERVERS, [end("worker-0", 0)], 1, State.RUNNING, ""),
        (SERVERS, [end("worker-0", 0), end("worker-1", 0)], 1, State.STOPPING, "ps-0 ps-1"),
        (SERVERS, [end("worker-0", 0), end("worker-1", 0), end("ps-0", 143, stopped=True)], 1, State.STOPPING, "ps-1"),
        (SERVERS, [end("worker-0", 0), end("worker-1", 0), *(end(ps, 143, stopped=True) for ps in ("ps-0", "ps-1"))],
         1, State.COMPLETED, ""),
        (SERVERS, [end("ps-0", 0)], 1.5, State.RUNNING, ""),
        (SERVERS, [end("ps-0", 0)], 1 + SETTLE_SECONDS, State.STOPPING, "ps-1 worker-0 worker-1"),
        (COLLECTIVE, [end("worker-1", 3)], 1.5, State.RUNNING, ""),
        (COLLECTIVE, [end("worker-1", 3)], 1 + SETTLE_SECONDS, State.STOPPING, "worker-0"),
        (COLLECTIVE, [end("worker-1", 3), end("worker-0", 250)], 1.5, State.FAILED, ""),
        (COLLECTIVE, [end("worker-1", None)], 1 + SETTLE_SECONDS, State.STOPPING, "worker-0"),
    ],
)  # fmt: skip
def test_what_is_done_after_ends(job: Job, ends: list[End], now: float, state: State, stopped: str) -> None:
    decision = decide(job, ends, now)
    assert decision.state is state
    assert sorted(map(str, decision.stop)) == stopped.split()


def test_nothing_is_stopped_while_machines_are_asked_whether_they_answer() -> None:
    assert decide(COLLECTIVE, [end("worker-0", 1)], 100, probing=True).state is State.RUNNING


@pytest.mark.parametrize(
    ("ends", "first"),
    [
        ([end("worker-0", 250, 1.0), end("worker-1", 3, 1.4)], "worker-1"),
        ([end("worker-0", 1, 1.0), end("worker-1", None, 9.0)], "worker-1"),
        ([end("worker-0", 1, 1.0), end("worker-1", 1, 9.0)], "worker-0"),
        ([end("worker-0", 1, 1.0, "RuntimeError: Connection closed by peer [10.0.0.2]:1"), end("worker-1", 1, 9.0)],
         "worker-1"),
    ],
)  # fmt: skip
def test_who_failed_first_is_no_echo_of_a_peer(ends: list[End], first: str) -> None:
    assert str(decide(COLLECTIVE, ends, 100).deaths[0].rank) == first


@pytest.mark.parametrize(
    ("code", "errors", "sentence"),
    [
        (SSH_FAILED, "Host key verification failed.\n", "b: its key is not known here: connect once by hand"),
        (SSH_FAILED, "me@b: Permission denied (publickey).", "b: it does not let you in with your keys"),
        (SSH_FAILED, "ssh: connect to host b port 22: Connection refused", "b: it refuses ssh"),
        (SSH_FAILED, "ssh: Could not resolve hostname b: Name or service not known", "b: its name does not resolve"),
        (SSH_FAILED, "ssh: connect to host b port 22: Connection timed out", "b: it does not answer"),
        (SSH_FAILED, "Bad owner or permissions on ~/.ssh/config", "b: Bad owner or permissions"),
        (SSH_FAILED, "", "b: ssh ended and gave no reason"),
        (NO_DIRECTORY, "", "b: /srv/job is no directory there in which files can be written"),
        (TAKEN, "", "b: /srv/job/paddock-demo/demo-a.sh is there already"),
        (2, "worker-0: there is no file /srv/job/train.py\nHUB is not set\n", "b: HUB is not set"),
    ],
)
def test_why_a_machine_is_not_fit_is_a_sentence(code: int, errors: str, sentence: str) -> None:
    said = [str(each) for each in explain_unfit("b", code, errors, REMOTE)]
    assert any(each.startswith(sentence) for each in said), said


def test_machines_with_other_versions_of_the_framework_are_refused_and_of_python_told() -> None:
    refused, warned = compare_versions({"a": "python 3.11.2\npaddle 3.3.1\n", "b": "python 3.12.1\npaddle 3.0.0\n"})
    assert [str(each) for each in refused] == [
        "the machines have other versions of paddle, which do not train together: 3.3.1 on a, 3.0.0 on b"
    ]
    assert [str(each) for each in warned] == ["the machines have other Pythons: 3.11.2 on a, 3.12.1 on b"]
    assert compare_versions({"a": "python 3.11.2\n", "b": "python 3.11.2\n"}) == ((), ())

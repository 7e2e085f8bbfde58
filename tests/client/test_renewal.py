"""When a credential plug-in runs: a table, and what holds in any course of events."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.client.errors import PluginError, said
from paddock.client.identity import Credential
from paddock.client.renewal import Decision, Held, accept, decide, fail, find_end, is_valid, reject, succeed

ERROR = PluginError(said("no"))
HOUR = Credential("t", expires=4600.0)
HELD = Held(HOUR, obtained=1000.0, tried=1000.0, accepted=True)
SHORT = replace(HELD, credential=Credential("t", expires=1100.0))
FOR_EVER = replace(HELD, credential=Credential("t"))
LATE = replace(HELD, credential=Credential("t", expires=10.0))
FAILED = Held(failures=1, tried=1000.0, error=ERROR)
REJECTED = reject(HELD, HOUR)


@pytest.mark.parametrize(
    ("held", "now", "expected"),
    [
        pytest.param(Held(), 0.0, Decision.RUN, id="at first"),
        pytest.param(HELD, 1000.0, Decision.USE, id="just obtained"),
        pytest.param(HELD, 4539.0, Decision.USE, id="more than a minute before the end"),
        pytest.param(HELD, 4540.0, Decision.RENEW, id="a minute before the end"),
        pytest.param(HELD, 4600.0, Decision.RUN, id="at the end"),
        pytest.param(SHORT, 1089.0, Decision.USE, id="a short one, with more than a tenth left"),
        pytest.param(SHORT, 1090.0, Decision.RENEW, id="a short one, with a tenth left"),
        pytest.param(FOR_EVER, 1e12, Decision.USE, id="one without an end"),
        pytest.param(LATE, 1000.0, Decision.USE, id="one that had ended when it came"),
        pytest.param(LATE, 1060.0, Decision.RUN, id="one that had ended when it came, a minute later"),
        pytest.param(HELD, 10.0, Decision.USE, id="the clock was set back"),
        pytest.param(HELD, 1e9, Decision.RUN, id="the clock jumped ahead"),
        pytest.param(REJECTED, 1000.0, Decision.RUN, id="a 401"),
        pytest.param(reject(FOR_EVER, FOR_EVER.credential), 2000.0, Decision.RUN, id="a 401 of one without an end"),  # type: ignore[arg-type]
        pytest.param(replace(REJECTED, rejections=2), 1000.5, Decision.USE, id="a second 401 in a row"),
        pytest.param(replace(REJECTED, rejections=2), 1001.0, Decision.RUN, id="a second after the second 401"),
        pytest.param(replace(REJECTED, rejections=99), 1059.0, Decision.USE, id="a 401 each time"),
        pytest.param(replace(REJECTED, rejections=99), 1060.0, Decision.RUN, id="a 401 each time, a minute later"),
        pytest.param(FAILED, 1000.5, Decision.REFUSE, id="it has just failed"),
        pytest.param(FAILED, 1001.0, Decision.RUN, id="it failed a second ago"),
        pytest.param(FAILED, 10.0, Decision.RUN, id="it failed, and the clock was set back"),
        pytest.param(replace(FAILED, failures=99), 1059.0, Decision.REFUSE, id="it fails each time"),
        pytest.param(replace(FAILED, failures=99), 1060.0, Decision.RUN, id="it fails each time, a minute later"),
        pytest.param(fail(HELD, ERROR, 4550.0), 4550.5, Decision.USE, id="a renewal has just failed"),
        pytest.param(fail(HELD, ERROR, 4550.0), 4551.0, Decision.RENEW, id="a renewal failed a second ago"),
        pytest.param(fail(HELD, ERROR, 4599.5), 4600.0, Decision.REFUSE, id="a renewal failed, and this is the end"),
        pytest.param(fail(REJECTED, ERROR, 1000.0), 1000.5, Decision.REFUSE, id="a 401, and it fails"),
    ],
)
def test_what_a_request_does(held: Held, now: float, expected: Decision) -> None:
    assert decide(held, now) is expected


def test_without_an_early_renewal_it_is_used_to_its_end() -> None:
    assert decide(HELD, 4599.0, early=False) is Decision.USE
    assert decide(HELD, 4600.0, early=False) is Decision.RUN


def test_a_renewal_that_gives_the_same_credential_comes_ever_nearer_to_the_end() -> None:
    held, now, runs = HELD, 1000.0, 0
    while now < 4600.0:
        if decide(held, now) is Decision.RENEW:
            held, runs = succeed(held, HOUR, now), runs + 1
        now += 0.25
    assert 2 <= runs <= 4


def test_a_401_counts_once_and_only_of_the_present_credential() -> None:
    assert reject(REJECTED, HOUR) == REJECTED
    assert reject(HELD, replace(HOUR)) == HELD


def test_the_same_credential_again_stays_rejected_until_the_server_takes_it() -> None:
    again = succeed(REJECTED, replace(HOUR), 1001.0)
    assert again.rejected and decide(again, 1001.0) is Decision.USE
    other = succeed(REJECTED, Credential("u", expires=4600.0), 1001.0)
    assert decide(other, 1001.0) is Decision.USE and not other.rejected
    assert again.credential is not None
    assert is_valid(accept(again, again.credential), 1001.0)


EVENTS = st.lists(
    st.tuples(st.sampled_from(["request", "request", "401", "jump"]), st.booleans(), st.floats(-100, 5000)), max_size=60
)


@given(EVENTS)
def test_in_any_course_of_events(events: list[tuple[str, bool, float]]) -> None:
    """A request with a valid credential is never refused; a plug-in that has failed does not run at once again; after a
    run that gave something there is something to use."""
    held, now = Held(), 1000.0
    for number, (event, works, seconds) in enumerate(events):
        now += seconds if event == "jump" else abs(seconds) / 1000
        if event == "401" and held.credential:
            held = reject(held, held.credential)
        decision = decide(held, now)
        if is_valid(held, now):
            assert decision in (Decision.USE, Decision.RENEW)
        if decision in (Decision.USE, Decision.RENEW):
            assert held.credential is not None
        if decision is Decision.REFUSE:
            assert held.error is not None
        if decision in (Decision.RUN, Decision.RENEW):
            if works:
                held = succeed(held, Credential(f"t{number}", expires=now + seconds), now)
                assert now < find_end(held) and is_valid(held, now)
            else:
                held = fail(held, ERROR, now)
                assert decide(held, now + 0.5) in (Decision.REFUSE, Decision.USE)

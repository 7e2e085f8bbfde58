"""When a credential plug-in runs: the one place that decides. PURE.

A credential is used until it ends. Shortly before, a renewal starts beside the requests that go on with it, so a
plug-in that is slow or fails for a moment holds up nobody. A 401 also ends a credential. client-go does not look
ahead: it runs the plug-in at the first request after the end, and after each 401.

A plug-in that fails, or whose credentials the server does not take, runs again after 1, 2, 4 … 60 seconds: an operator
would else start a process for each of its requests. The first 401 is answered by a run at once.

Times are seconds of the wall clock, as the end of a credential is. It may jump: a wait in which the clock was set
back is over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from paddock.client.errors import PluginError
from paddock.client.identity import Credential
from paddock.kube.times import Moment, exponential_backoff

EARLY_SECONDS = 60.0
EARLY_SHARE = 0.1
"""A credential is renewed `EARLY_SECONDS` before its end, of a short-lived one when this share of its life is left."""
LEAST_SECONDS = 60.0
"""A credential that has ended when it comes is used for this long: this clock may be wrong, so the server decides."""
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0


@dataclass(frozen=True, slots=True)
class Held:
    """What is known at one moment."""

    credential: Credential | None = None
    obtained: Moment = 0.0  # when the credential came
    rejected: bool = False  # the server answered it with 401
    accepted: bool = False  # the server took this credential or one before it
    failures: int = 0  # runs without a credential, in a row
    rejections: int = 0  # credentials that the server did not take, in a row
    tried: Moment = 0.0  # the end of the last run
    error: PluginError | None = None  # of the last run


class Decision(Enum):
    USE = "use the credential"
    RENEW = "use the credential, and run the plug-in beside"
    RUN = "run the plug-in and wait for it"
    REFUSE = "fail with the error of the last run"


def decide(held: Held, now: Moment, *, early: bool = True) -> Decision:
    """What a request does that begins `now`. `early`: a renewal may start before the end."""
    waiting = 0 <= now - held.tried < _wait(held)
    if is_valid(held, now):
        return Decision.RENEW if early and not waiting and now >= _renew_at(held) else Decision.USE
    if not waiting:
        return Decision.RUN
    return Decision.REFUSE if held.error else Decision.USE


def is_valid(held: Held, now: Moment) -> bool:
    """Whether there is a credential that has neither ended nor been rejected."""
    return held.credential is not None and not held.rejected and now < find_end(held)


def find_end(held: Held) -> Moment:
    expires = held.credential.expires if held.credential else None
    if expires is None:
        return float("inf")
    return expires if expires > held.obtained else held.obtained + LEAST_SECONDS


def _renew_at(held: Held) -> Moment:
    """A renewal that gives the same credential again is thereby followed by one that is ten times nearer to the end."""
    end = find_end(held)
    return end if end == float("inf") else end - min(EARLY_SECONDS, EARLY_SHARE * (end - held.obtained))


def _wait(held: Held) -> float:
    """Seconds after the last run in which there is no other."""
    failed = exponential_backoff(held.failures, _FIRST_WAIT, _LONGEST_WAIT)
    return max(failed, exponential_backoff(held.rejections - 1, _FIRST_WAIT, _LONGEST_WAIT))


def succeed(held: Held, credential: Credential, now: Moment) -> Held:
    """The plug-in gave this. If it is the very one that was rejected, it stays so."""
    again = held.rejected and credential == held.credential
    return replace(
        held,
        credential=credential, obtained=now, rejected=again, failures=0, tried=now, error=None,
        rejections=held.rejections + again,
    )  # fmt: skip


def fail(held: Held, error: PluginError, now: Moment) -> Held:
    return replace(held, failures=held.failures + 1, tried=now, error=error)


def accept(held: Held, credential: Credential) -> Held:
    """The server took it: its answer was no 401."""
    return replace(held, accepted=True, rejected=False, rejections=0) if credential is held.credential else held


def reject(held: Held, credential: Credential) -> Held:
    """The server answered it with 401. No change if it is not the present one, or was rejected before."""
    if credential is not held.credential or held.rejected:
        return held
    return replace(held, rejected=True, rejections=held.rejections + 1)

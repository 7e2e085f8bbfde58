"""Tells others of jobs that have ended: one message for each route that takes the job.

Never in the way of a reconcile: `offer` puts the job into a queue with bounds, and what has no room is dropped, counted
and told by an event on the job. Each address has a lane of its own, with one message on its way at a time: a receiver
that does not answer holds up no other, and there are at most as many connections as routes.

A job is offered where its end is counted (`operator.tally`): once, by the process that recorded it. A process that ends
meanwhile tells nothing later, as nobody knows then what was sent.

Addresses are secrets: events and logs have the name of a route, never its address.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from paddock.client.redaction import redact
from paddock.jobs.ended import End
from paddock.jobs.exit_codes import read_exit_code
from paddock.jobs.model import Phase, Status
from paddock.jobs.sentences.chat_bodies import build_body, build_chat_body, read_refusal
from paddock.jobs.sentences.explain import explain
from paddock.kube.meta import labels_of, metadata, name_of, namespace_of
from paddock.kube.times import read_time
from paddock.operator.metrics import UNMEASURED, Measures
from paddock.operator.notice_routes import Route, WrongRoutes, read_routes
from paddock.words.phrases import phrase

MOST_WAITING = 1000
"""Jobs; and messages of one address, those that wait for a further attempt included."""
MOST_HELD = 10_000
"""Messages of all addresses, which have equal shares of it."""
DELAYS = (2.0, 10.0, 60.0)
"""Seconds before each further attempt."""
_NAMED = 20
"""Jobs in one line of the log."""
_CANCELLED = "Cancelled"
"""The reason of the cause (`jobs.causes`), and the word for the job."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back of a message."""

    code: int = 0
    """Of HTTP; 0 without an answer."""
    body: bytes = b""
    problem: str = ""
    """Why there is no answer, without the address."""


Post = Callable[[str, bytes], Awaitable[Answer]]
"""(address, body); raises nothing."""
Publish = Callable[[Mapping[str, Any], str, str, str], None]
"""As `EventRecorder.publish`."""


def read_end(job: Mapping[str, Any], status: Status) -> End:
    """As a notice tells it. Pure."""
    cause, phase = status.cause, str(status.phase)
    if status.phase is Phase.FAILED and cause is not None and cause.reason == _CANCELLED:
        phase = _CANCELLED
    begun = read_time(metadata(job).get("creationTimestamp"))
    seconds = max(0.0, status.finished - begun) if status.finished is not None and begun is not None else 0.0
    said = explain(cause) if cause is not None and read_exit_code(status.phase, cause) else ""
    return End(name_of(job), namespace_of(job), phase, said, seconds)


def explain_answer(host: str, answer: Answer) -> tuple[str, bool]:
    """Why a message was not taken, and whether another attempt may help; empty where it was taken. Pure."""
    if not answer.code:
        return answer.problem or "no answer", True
    if 200 <= answer.code < 300:
        refused = read_refusal(host, answer.body)
        return refused, False
    return f"it answered {answer.code}", answer.code in (408, 425, 429) or answer.code >= 500


@dataclass(frozen=True, slots=True)
class _Ended:
    """A job that has ended: what a message and an event need of it, as a manifest may have a megabyte."""

    about: Mapping[str, Any]
    labels: Mapping[str, str]
    end: End

    def __str__(self) -> str:
        return f"{self.end.namespace}/{self.end.job}"


@dataclass(eq=False, slots=True)
class _Message:
    job: _Ended
    route: Route
    attempts: int = 0
    """That failed."""


@dataclass(eq=False, slots=True)
class _Lane:
    """Of one address."""

    waiting: deque[_Message] = field(default_factory=deque)
    held: set[_Message] = field(default_factory=set)
    """All of which nobody knows yet what becomes of them: waiting, on their way, or between attempts."""
    is_sending: bool = False


def _summarize(job: Mapping[str, Any], status: Status) -> _Ended:
    meta = metadata(job)
    about = {name: job[name] for name in ("apiVersion", "kind") if name in job}
    kept = {name: meta[name] for name in ("name", "namespace", "uid", "resourceVersion") if name in meta}
    return _Ended({**about, "metadata": kept}, dict(labels_of(job)), read_end(job, status))


class Notices:
    """`read` gives the text of the routes as it is now, None where there are none; it is called in a thread, and may
    raise OSError. `publish` is set by the operator."""

    def __init__(
        self,
        read: Callable[[], str | None],
        post: Post,
        *,
        measures: Measures = UNMEASURED,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        most: int = MOST_WAITING,
    ) -> None:
        self.publish: Publish = lambda *_: None
        self._read, self._post, self._measures, self._sleep, self._most = read, post, measures, sleep, most
        self._waiting: asyncio.Queue[_Ended] = asyncio.Queue(most)
        self._text: str | None = None
        self._refused: str | None = None
        self._routes: tuple[Route, ...] = ()
        self._wrong = ""
        self._lanes: dict[str, _Lane] = {}
        self._sending: set[asyncio.Task[None]] = set()
        self._later: set[asyncio.Task[None]] = set()

    def offer(self, job: Mapping[str, Any], status: Status) -> None:
        """The job has ended. Returns at once."""
        try:
            self._waiting.put_nowait(_summarize(job, status))
        except asyncio.QueueFull:
            self._measures.noticed("dropped")
            said = phrase("nobody was told that the job has ended: too many notices waited to be sent")
            self.publish(job, "NoticeDropped", str(said), "Warning")
        except Exception:
            _log.exception("a notice could not be made, which is a bug")

    async def run(self) -> None:
        """Until cancelled. Routes that are wrong are told at the start, and not by the first notice that is lost."""
        await self._refresh()
        while True:
            job = await self._waiting.get()
            try:
                await self._tell(job)
            except asyncio.CancelledError:
                self._drop([job])
                raise
            except Exception:
                self._measures.noticed("failed")
                _log.exception("a notice of %s failed, which is a bug", job)
            finally:
                self._waiting.task_done()

    async def end(self, running: asyncio.Task[None], seconds: float) -> None:
        """Sends what waits, for so long at most, and cancels `running`. What is left is dropped: counted and logged."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._waiting.join()
                while self._sending:
                    await asyncio.wait(self._sending)
        tasks = (running, *self._sending, *self._later)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        left = [message.job for lane in self._lanes.values() for message in lane.held]
        self._lanes.clear()
        while not self._waiting.empty():
            left.append(self._waiting.get_nowait())
        self._drop(left)

    def _drop(self, left: Sequence[_Ended]) -> None:
        for _ in left:
            self._measures.noticed("dropped")
        if left:
            names = sorted(set(map(str, left)))
            more = f" and {len(names) - _NAMED} more jobs" if len(names) > _NAMED else ""
            shown = ", ".join(names[:_NAMED]) + more
            _log.warning("%d notices may not have been sent: this process ends: of %s", len(left), shown)

    async def _tell(self, job: _Ended) -> None:
        if not await self._refresh():
            self._measures.noticed("failed")
            self.publish(job.about, "NoticeFailed", str(_UNUSABLE), "Warning")
            return
        share = max(1, min(self._most, MOST_HELD // max(1, len({route.url for route in self._routes}))))
        for route in self._routes:
            if route.takes(job.end, job.labels):
                self._add(_Message(job, route), share)

    async def _refresh(self) -> bool:
        """Reads the routes again; whether there are any that can be used, none included. Those that were used last
        stay where the new ones are wrong."""
        text = None
        try:
            text = await asyncio.to_thread(self._read)
            if text is not None and text == self._refused:
                return self._text is not None
            if text != self._text:
                self._routes = await asyncio.to_thread(read_routes, text) if text is not None else ()
                self._text = text
                _log.info("notices of jobs that end have %d routes", len(self._routes))
            self._wrong, self._refused = "", None
        except (OSError, UnicodeError, WrongRoutes) as error:
            said = str(getattr(error, "strerror", None) or (error if isinstance(error, WrongRoutes) else "no UTF-8"))
            if said != self._wrong:
                _log.warning("the routes of notices cannot be used: %s", said)
            self._wrong, self._refused = said, text
        return not self._wrong or self._text is not None

    def _add(self, message: _Message, share: int) -> None:
        lane = self._lanes.setdefault(message.route.url, _Lane())
        if len(lane.held) >= share:
            self._measures.noticed("dropped")
            said = phrase("{route} was not told that the job has ended: {why}", route=message.route.name,
                          why="too many notices waited to be sent")  # fmt: skip
            self.publish(message.job.about, "NoticeDropped", str(said), "Warning")
            return
        lane.held.add(message)
        self._queue(lane, [message])

    def _queue(self, lane: _Lane, messages: Sequence[_Message]) -> None:
        lane.waiting.extend(messages)
        if not lane.is_sending:
            lane.is_sending = True
            _keep(self._sending, self._send_all(lane))

    async def _send_all(self, lane: _Lane) -> None:
        while lane.waiting:
            message = lane.waiting.popleft()
            try:
                await self._send(lane, message)
            except Exception:
                self._measures.noticed("failed")
                self._release(lane, message)
                _log.exception("a notice of %s failed, which is a bug", message.job)
        lane.is_sending = False

    async def _send(self, lane: _Lane, message: _Message) -> None:
        """One attempt. Without any answer it is the receiver that is away, so it counts for all that wait for it:
        otherwise each of them would have its own ten seconds, one after the other."""
        end, route = message.job.end, message.route
        answer = await self._post(route.url, build_chat_body(route.host, end) or build_body(end))
        why, passing = explain_answer(route.host, answer)
        if not why or not passing:
            self._settle(lane, message, why)
            return
        tried = [message]
        if not answer.code:
            tried += lane.waiting
            lane.waiting.clear()
        later: dict[float, list[_Message]] = {}
        for each in tried:
            each.attempts += 1
            if each.attempts > len(DELAYS):
                self._settle(lane, each, why)
            else:
                later.setdefault(DELAYS[each.attempts - 1], []).append(each)
        for delay, messages in later.items():
            _keep(self._later, self._retry(lane, delay, messages))

    async def _retry(self, lane: _Lane, delay: float, messages: Sequence[_Message]) -> None:
        await self._sleep(delay)
        self._queue(lane, messages)

    def _settle(self, lane: _Lane, message: _Message, why: str) -> None:
        self._release(lane, message)
        if not why:
            self._measures.noticed("sent")
            return
        self._measures.noticed("failed")
        route = message.route
        hidden = redact(why, [route.url])  # a receiver may repeat in its answer what it was sent to
        said = phrase("{route} was not told that the job has ended: {why}", route=route.name, why=hidden)
        self.publish(message.job.about, "NoticeFailed", str(said), "Warning")
        _log.warning("%s: %s", message.job, said)

    def _release(self, lane: _Lane, message: _Message) -> None:
        lane.held.discard(message)
        if not lane.held and self._lanes.get(message.route.url) is lane:
            del self._lanes[message.route.url]


def _keep(tasks: set[asyncio.Task[None]], sending: Coroutine[Any, Any, None]) -> None:
    task = asyncio.create_task(sending)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


_UNUSABLE = phrase(
    "nobody was told that the job has ended: the operator's routes of notices cannot be used; its log says why"
)

"""Datasets beside the operator of a cluster: their controller, while this process leads.

Two controllers at once would do no harm, as the names of claims and Jobs are deterministic. One is enough: where the
namespaces are shared out, it is who leads the first shard, for all of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress

from paddock.client.client import Client
from paddock.datasets.fetch_jobs import FetchPod
from paddock.datasets.job_reading import ReadLog
from paddock.datasets.library import Datasets
from paddock.datasets.sources import COPIED
from paddock.datasets.supplier import Supplier
from paddock.install.deployment import IMAGE_VARIABLE
from paddock.kube.api import Api
from paddock.kube.errors import ApiError, NotFound
from paddock.kube.guard import NotBegun
from paddock.kube.times import exponential_backoff
from paddock.operator.election import WITHOUT_ELECTION, Leadership, Term
from paddock.operator.passes import begin_pass

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
_LONGEST_RETRY = 300.0
_LASTING = 60.0
"""Seconds of work after which the next begins at once. A start looks at all Datasets: what costs the leadership each
time would else be done over and over."""
_LINES = 20
_LOG_BYTES, _MOST_LOG_BYTES, _LOG_SECONDS = 1 << 16, 1 << 20, 10.0
"""What is kept of a log, and what is read of it at most: lines have any length, and a pod that somebody else has made
in place of ours writes what it likes."""

log = logging.getLogger(__name__)


def build_fetch_pod(image: str, environ: Mapping[str, str]) -> FetchPod:
    """`image`: one that somebody chose, which counts as having git and what hubs need; empty for the operator's own,
    whose name `environ` has. The operator's own proxies go to the pods; one with a password does not, as pods are
    read by their namespace."""
    proxies = tuple((name, environ[name]) for name in _PROXIES if environ.get(name) and "@" not in environ[name])
    if image:
        return FetchPod(image, COPIED, proxies)
    return FetchPod(environ[IMAGE_VARIABLE], proxies=proxies)


def build_log_reader(client: Client) -> ReadLog:
    """The last lines of a pod's log, at most 64 KiB; what has come of a log that is too long, or comes too slowly."""

    async def read(namespace: str, pod: str) -> bytes:
        text, length = b"", 0
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(_LOG_SECONDS),
                aclosing(client.stream_log(namespace, pod, tail=_LINES)) as chunks,
            ):
                async for chunk in chunks:
                    text, length = (text + chunk)[-_LOG_BYTES:], length + len(chunk)
                    if length > _MOST_LOG_BYTES:
                        break
        return text

    return read


class ClusterDatasets:
    """`namespaces`: those to watch, "" for all. `look_seconds`: within which it notices that it leads no more.
    `retry_seconds`: after an answer with which nothing can be watched, or a leadership that did not last, at first;
    twice as long after each further one, and 5 minutes at most."""

    def __init__(
        self,
        api: Api,
        supplier: Supplier,
        namespaces: Sequence[str],
        leadership: Leadership | None = None,
        *,
        look_seconds: float = 1.0,
        retry_seconds: float = 10.0,
    ) -> None:
        self._api = api
        self._supplier = supplier
        self._namespaces = namespaces
        self._leadership = leadership or WITHOUT_ELECTION
        self._look_seconds = look_seconds
        self._retry_seconds = retry_seconds
        self._said = ""

    async def run(self) -> None:
        """Runs until cancelled. A kind that may not be watched is tried again: rights may be given later."""
        tries, now = 0, asyncio.get_running_loop().time
        while True:
            while not self._leads():
                await self._leadership.wait(self._leadership.terms)
            begun, failed = now(), False
            try:
                await self._work_while_leading()
            except* NotBegun:
                pass  # as where the end of the term was noticed before a request
            except* ApiError as errors:
                self._log_once("; ".join(str(each) for each in errors.exceptions))
                failed = True
            lasted = now() - begun
            if not failed and lasted >= _LASTING:
                tries = 0
                continue
            tries = tries + 1 if lasted < _LONGEST_RETRY else 1
            await asyncio.sleep(exponential_backoff(tries, self._retry_seconds, _LONGEST_RETRY))

    async def _work_while_leading(self) -> None:
        term = self._leadership.terms.get(0)
        working = asyncio.create_task(self._work(term))
        try:
            while self._leadership.holds(0, term) and not working.done():
                await asyncio.wait([working], timeout=self._look_seconds)
            if working.done():
                await working
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    async def _work(self, term: Term | None) -> None:
        begin_pass(0, term)
        await Datasets(self._api, self._supplier, namespaces=self._namespaces).run()

    def _leads(self) -> bool:
        return 0 in self._leadership.terms

    def _log_once(self, said: str) -> None:
        if said != self._said:
            log.warning("datasets cannot be served, trying again: %s", said)
        self._said = said


async def read_nothing(namespace: str, pod: str) -> bytes:
    """Where there is no client that streams logs: no progress is known, the end is."""
    raise NotFound("no logs are read here")

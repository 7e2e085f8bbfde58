"""POST of Kubeflow Trainer's path: a program tells how far its training is (`kube.trainer_status`).

Its clients have no token of the cluster: each pod has one of its own, which is good for this path alone and opens
nothing else. Who runs the pods gives these tokens out and keeps the reports; `app` connects the two.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import msgspec
from aiohttp import web

from paddock.apiserver.http.answers import answer_json
from paddock.apiserver.http.bodies import receive_body
from paddock.kube.errors import BadRequest
from paddock.kube.trainer_status import TrainerStatus, read_path, read_trainer_status, write_trainer_status

MOST_BYTES = 64 * 1024
"""Of a body. Kubeflow's SDK sends at most 256 metrics."""

_Grant = TypeVar("_Grant")


class Reports(Protocol[_Grant]):
    """Who keeps the reports."""

    def authorize(self, namespace: str, name: str, authorization: str) -> _Grant:
        """What the token of this header allows. Raises `Unauthorized` for no token, `Forbidden` for one of another
        job."""
        ...

    async def keep(self, grant: _Grant, status: TrainerStatus) -> None:
        """Raises `NotFound` where the job is not there any more, `Conflict` where the attempt is over."""
        ...


class TrainerPath:
    def __init__(self, reports: Reports[Any]) -> None:
        self._reports = reports

    def serves(self, request: web.Request) -> bool:
        return request.method == "POST" and read_path(request.path) is not None

    async def answer(self, request: web.Request) -> web.Response:
        """200 with what was kept. Raises `ApiError`, never one of the server's own fault."""
        namespace, name = read_path(request.path) or ("", "")
        grant = self._reports.authorize(namespace, name, request.headers.get("Authorization", ""))
        status = read_trainer_status(_decode(await receive_body(request, MOST_BYTES)))
        if status is None:
            return answer_json(b"{}")
        await self._reports.keep(grant, status)
        return answer_json(msgspec.json.encode(write_trainer_status(status)))


def _decode(body: bytes) -> object:
    """Of any media type: the clients' own examples say none."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadRequest(f"the report of the training is not kept: the body is no JSON: {error!s:.200}") from None

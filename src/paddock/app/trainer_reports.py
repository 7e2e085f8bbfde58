"""What programs of the local cluster post of their training by Kubeflow Trainer's protocol (`kube.trainer_status`).

Each container of a job gets the variables that the clients look for: transformers reports by them without a line of
code. It gets them only where its manifest or image sets none of them, and has not switched the reports off.

The token of a pod says of which job and attempt it is, signed with a key of this cluster: so it is good for the reports
of that job alone, and stays good when the cluster's process starts anew and its pods have gone on. No pod has the
cluster's own token or the key. Reports are kept in memory: the next one comes within seconds.
"""

from __future__ import annotations

import base64
import hmac
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from paddock.apiserver.http.authentication import make_secret
from paddock.jobs.apis.registry import KINDS
from paddock.jobs.labels import ATTEMPT_LABEL, SPARE_LABEL
from paddock.jobs.model import JobProgress
from paddock.jobs.progress import bound_metrics
from paddock.kube.errors import Conflict, Forbidden, NotFound, Unauthorized
from paddock.kube.meta import Manifest, Resource, controller_of, labels_of, namespace_of, uid_of
from paddock.kube.trainer_status import (
    CERTIFICATE_VARIABLE,
    DISABLING_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    TrainerStatus,
    build_path,
)
from paddock.node.runtime.containers import Provision

log = logging.getLogger(__name__)

MOST_JOBS = 1_000
"""Whose reports are kept: those that have reported last."""
_HOST = "127.0.0.1"
_CERTIFICATE, _TOKEN = "ca.crt", "token"
_PROXIES = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
_EXCEPTIONS = ("no_proxy", "NO_PROXY")


Get = Callable[[Resource, str, str], Awaitable[Manifest]]
"""The object of this kind, namespace and name. Raises `NotFound`."""


class Grant(NamedTuple):
    """For what the token of a pod is good."""

    resource: str
    """The kind of the job, as `paddlejobs.kubeflow.org`."""
    namespace: str
    name: str
    uid: str
    """Of the job."""
    attempt: int
    pod: str
    """The UID of the pod, so that each has a token of its own. One that was replaced in this attempt may still report:
    it is of the same user, and the newest report counts."""


@dataclass(frozen=True, slots=True)
class _Kept:
    attempt: int
    progress: JobProgress


class TrainerReports:
    """`get`: of the API. `directory`: of the API server, for the key. `url`: of the API server, empty as long as it is
    not known; `certificate`: the file of its authority."""

    def __init__(self, get: Get, directory: Path, *, url: Callable[[], str], certificate: Path) -> None:
        self._get, self._directory = get, directory
        self._url, self._certificate = url, certificate
        self._kept: dict[str, _Kept] = {}
        self._key: bytes | None = None
        self._kinds = {resource.qualified: resource for resource in KINDS}

    # For the node

    def provide(self, pod: Manifest, environment: Mapping[str, str], directory: Path) -> Provision:
        """What a container of this pod gets; nothing for one of no job. Never raises: without the reports it trains as
        well."""
        try:
            return self._provide(pod, environment, directory)
        except OSError as error:
            log.warning("pod %s cannot report how far it is: %s", uid_of(pod), error)
            return Provision()

    def _provide(self, pod: Manifest, environment: Mapping[str, str], directory: Path) -> Provision:
        grant, url = read_grant(pod), self._url()
        if grant is None or not url or not wants_reports(environment):
            return Provision()
        variables = {
            URL_VARIABLE: url + build_path(grant.namespace, grant.name),
            CERTIFICATE_VARIABLE: str(directory / _CERTIFICATE),
            TOKEN_VARIABLE: str(directory / _TOKEN),
        }
        files = {_CERTIFICATE: self._certificate.read_bytes(), _TOKEN: self._sign(grant)}
        return Provision(files, variables | pass_by_proxy(environment))

    def _sign(self, grant: Grant) -> bytes:
        content = base64.urlsafe_b64encode(msgspec.json.encode(tuple(grant)))
        return content + b"." + self._mark(content)

    def _mark(self, content: bytes) -> bytes:
        if self._key is None:
            self._key = make_secret(self._directory / "trainer.key").encode()
        return base64.urlsafe_b64encode(hmac.digest(self._key, content, sha256))

    # For the API server

    def authorize(self, namespace: str, name: str, authorization: str) -> Grant:
        """Raises `Unauthorized`, `Forbidden`."""
        scheme, _, token = authorization.partition(" ")
        # aiohttp decodes bytes that are not UTF-8 as surrogates.
        content, _, mark = token.strip().encode(errors="replace").rpartition(b".")
        if scheme.lower() != "bearer" or not hmac.compare_digest(mark, self._mark(content)):
            raise Unauthorized(
                f"Unauthorized: send the token of the file that {TOKEN_VARIABLE} names in the job's pods"
            )
        grant = Grant(*msgspec.json.decode(base64.urlsafe_b64decode(content), type=tuple[str, str, str, str, int, str]))
        if (grant.namespace, grant.name) != (namespace, name):
            raise Forbidden(
                f"this token is of a pod of {grant.namespace}/{grant.name}, and tells nothing of {namespace}/{name}"[
                    :500
                ]
            )
        return grant

    async def keep(self, grant: Grant, status: TrainerStatus) -> None:
        """The newest report of a job counts. Raises `NotFound`, `Conflict`."""
        resource = self._kinds.get(grant.resource)
        job = None if resource is None else await self._find(resource, grant)
        if job is None:
            raise NotFound(f"{grant.resource} {grant.namespace}/{grant.name} of this pod is not there any more")
        before = self._kept.pop(grant.uid, None)
        if before is not None and before.attempt > grant.attempt:
            self._kept[grant.uid] = before
            raise Conflict(f"attempt {grant.attempt} is over: attempt {before.attempt} has reported")
        progress = JobProgress(status.percent, status.remaining, bound_metrics(status.metrics))
        self._kept[grant.uid] = _Kept(grant.attempt, progress)
        while len(self._kept) > MOST_JOBS:
            del self._kept[next(iter(self._kept))]

    async def _find(self, resource: Resource, grant: Grant) -> Manifest | None:
        try:
            job = await self._get(resource, grant.namespace, grant.name)
        except NotFound:
            return None
        return job if uid_of(job) == grant.uid else None

    # For the operator

    def read(self, uid: str, attempt: int) -> JobProgress | None:
        """The newest report of this attempt of the job; None where there is none."""
        kept = self._kept.get(uid)
        return kept.progress if kept is not None and kept.attempt == attempt else None

    def forget(self, uid: str) -> None:
        self._kept.pop(uid, None)


def read_grant(pod: Manifest) -> Grant | None:
    """What a pod may report of; None for one that trains no job. Pure."""
    owner, labels = controller_of(pod), labels_of(pod)
    attempt = str(labels.get(ATTEMPT_LABEL, "0"))
    if owner is None or SPARE_LABEL in labels or not (attempt.isascii() and attempt.isdigit() and len(attempt) < 10):
        return None
    form = (owner.get("apiVersion"), owner.get("kind"))
    resource = next((each for each in KINDS if (each.api_version, each.kind) == form), None)
    if resource is None:
        return None
    name, uid = str(owner.get("name") or ""), str(owner.get("uid") or "")
    return Grant(resource.qualified, namespace_of(pod), name, uid, int(attempt), uid_of(pod))


def wants_reports(environment: Mapping[str, str]) -> bool:
    """Whether nobody else receives the reports, and they are not switched off. Pure."""
    own = {URL_VARIABLE, CERTIFICATE_VARIABLE, TOKEN_VARIABLE} & environment.keys()
    return not own and environment.get(DISABLING_VARIABLE, "").upper() != "TRUE"


def pass_by_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables by which this machine is asked directly, where a proxy is set. Pure.

    A proxy cannot reach this process. Each report would wait for its refusal, and the training with it.
    """
    if not any(environment.get(name) for name in _PROXIES):
        return {}
    # The one in small letters wins over the other, so one that is missing is not made.
    names = [name for name in _EXCEPTIONS if environment.get(name)] or list(_EXCEPTIONS)
    found = {name: [each.strip() for each in environment.get(name, "").split(",") if each.strip()] for name in names}
    return {name: ",".join([*hosts, _HOST]) for name, hosts in found.items() if not {"*", _HOST} & set(hosts)}

"""The tokens that pods of the laptop get: each that of its own service account, never the owner's.

In a sandbox with mounts a pod finds it where every client looks (`InClusterConfig` of the Kubernetes clients). A
token is bound to its pod, so it ends with it. It is signed once for all containers of a pod and their restarts, and
anew for one that starts when a part of its time has passed. Without such a sandbox a program could read the owner's
token as well (docs/security.md), and no path can be mounted: there a pod gets none.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from paddock.apiserver.access.token_requests import TokenWish
from paddock.apiserver.access.tokens import AUDIENCE, Bound
from paddock.apiserver.objects.access import Access
from paddock.kube.errors import ApiError
from paddock.kube.meta import Key, Manifest, name_of, namespace_of, uid_of
from paddock.kube.service_accounts import read_account_name
from paddock.kube.times import Moment
from paddock.node.runtime.containers import Provide, Provision

PLACE = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where pods of every Kubernetes find token, certificate and namespace."""
_DIRECTORY = "serviceaccount"
_SECONDS = 365 * 24 * 3600
_FRESH_PART = 0.1
"""Of its time: so long a token is given to containers that start. They have the rest of it at least."""
_MOST_GIVEN = 1000
"""Tokens that are remembered, those of the pods that started last. A signature takes 0.15 ms."""

log = logging.getLogger(__name__)


class PodTokens:
    """`access`, `url` and `certificate`: of the API server; `url` is empty as long as it is not known."""

    def __init__(
        self,
        access: Callable[[], Access],
        *,
        url: Callable[[], str],
        certificate: Path,
        clock: Callable[[], Moment] = time.time,
    ) -> None:
        self._access, self._url, self._certificate, self._clock = access, url, certificate, clock
        self._given: OrderedDict[tuple[str, ...], tuple[str, Moment]] = OrderedDict()
        """Tokens, and until when each is given again."""
        self._read: tuple[tuple[int, ...], bytes] = ((), b"")
        """The certificate, and the file that it was read from."""

    def make(self, pod: Manifest, audience: str, seconds: int) -> str:
        """A token of the pod's account. Raises `ApiError` where it has none."""
        account, now = Key(namespace_of(pod), read_account_name(pod)), self._clock()
        # An account that was made anew is another one.
        key = (uid_of(pod), uid_of(self._access().find_account(account) or {}), audience, str(seconds))
        token, until = self._given.get(key, ("", now))
        if now < until:
            return token
        wish = TokenWish((audience or AUDIENCE,), seconds, Bound("Pod", name_of(pod), uid_of(pod)))
        token = str(self._access().make_token(account, wish)["status"]["token"])
        self._given[key] = token, now + seconds * _FRESH_PART
        self._given.move_to_end(key)
        if len(self._given) > _MOST_GIVEN:
            self._given.popitem(last=False)
        return token

    def provide(self, pod: Manifest, environment: Mapping[str, str], directory: Path) -> Provision:
        """What a container of the pod gets. Never raises: most programs ask the API nothing."""
        try:
            return self._provide(pod, environment)
        except (ApiError, OSError) as error:
            log.warning("pod %s gets no token of its account: %s", uid_of(pod), error)
            return Provision()

    def _provide(self, pod: Manifest, environment: Mapping[str, str]) -> Provision:
        namespace, url = namespace_of(pod), urlsplit(self._url())
        account = self._access().find_account(Key(namespace, read_account_name(pod)))
        if account is None or not url.hostname or not wants_token(pod, account):
            return Provision()
        files = {
            "token": self.make(pod, "", _SECONDS).encode(),
            "ca.crt": self._read_certificate(),
            "namespace": namespace.encode(),
        }
        told = {"KUBERNETES_SERVICE_HOST": url.hostname, "KUBERNETES_SERVICE_PORT": str(url.port)}
        return Provision(
            {f"{_DIRECTORY}/{name}": content for name, content in files.items()},
            {} if told.keys() & environment.keys() else told,
            {_DIRECTORY: PLACE},
        )

    def _read_certificate(self) -> bytes:
        """Read again where the file is another one: a server that starts anew may have renewed it."""
        seen = self._certificate.stat()
        file = (seen.st_ino, seen.st_mtime_ns, seen.st_size)
        if self._read[0] != file:
            self._read = (file, self._certificate.read_bytes())
        return self._read[1]


def wants_token(pod: Manifest, account: Manifest) -> bool:
    """Whether a pod has its token mounted: what it says itself counts more than what its account says (core/v1,
    automountServiceAccountToken). A volume of its own at that path is one already. Pure."""
    spec = pod.get("spec") or {}
    containers = (each for kind in ("containers", "initContainers") for each in spec.get(kind) or ())
    if any(mount.get("mountPath") == PLACE for each in containers for mount in each.get("volumeMounts") or ()):
        return False
    said = (each.get("automountServiceAccountToken") for each in (spec, account))
    return next((answer for answer in said if answer is not None), True) is not False


def provide_all(*provides: Provide) -> Provide:
    """What all of them give together."""

    def provide(pod: Manifest, environment: Mapping[str, str], directory: Path) -> Provision:
        files: dict[str, bytes] = {}
        variables: dict[str, str] = {}
        places: dict[str, str] = {}
        for each in provides:
            given = each(pod, environment, directory)
            files |= given.files
            variables |= given.variables
            places |= given.places
        return Provision(files, variables, places)

    return provide

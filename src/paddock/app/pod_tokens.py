"""The tokens that pods of the laptop get: each that of its own service account, never the owner's.

In a sandbox with mounts a pod finds it where every client looks (`InClusterConfig` of the Kubernetes clients). A token
is bound to its pod, so it ends with it and needs no renewal. Without such a sandbox a program could read the owner's
token as well (docs/security.md), and no path can be mounted: there a pod gets none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from paddock.apiserver.access.token_requests import TokenWish
from paddock.apiserver.access.tokens import AUDIENCE, Bound
from paddock.apiserver.objects.access import Access
from paddock.kube.errors import ApiError
from paddock.kube.meta import Key, Manifest, name_of, namespace_of, uid_of
from paddock.kube.service_accounts import read_account_name
from paddock.node.runtime.containers import Provide, Provision

PLACE = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where pods of every Kubernetes find token, certificate and namespace."""
_DIRECTORY = "serviceaccount"
_SECONDS = 365 * 24 * 3600

log = logging.getLogger(__name__)


class PodTokens:
    """`access`, `url` and `certificate`: of the API server; `url` is empty as long as it is not known."""

    def __init__(self, access: Callable[[], Access], *, url: Callable[[], str], certificate: Path) -> None:
        self._access, self._url, self._certificate = access, url, certificate

    def make(self, pod: Manifest, audience: str, seconds: int) -> str:
        """A token of the pod's account. Raises `ApiError` where it has none."""
        account = Key(namespace_of(pod), read_account_name(pod))
        wish = TokenWish((audience or AUDIENCE,), seconds, Bound("Pod", name_of(pod), uid_of(pod)))
        token: str = self._access().make_token(account, wish)["status"]["token"]
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
            "ca.crt": self._certificate.read_bytes(),
            "namespace": namespace.encode(),
        }
        told = {"KUBERNETES_SERVICE_HOST": url.hostname, "KUBERNETES_SERVICE_PORT": str(url.port)}
        return Provision(
            {f"{_DIRECTORY}/{name}": content for name, content in files.items()},
            {} if told.keys() & environment.keys() else told,
            {_DIRECTORY: PLACE},
        )


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

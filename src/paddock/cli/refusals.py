"""What a cluster answers to somebody it does not know, or who may not: which right is missing, whose it is, what to do.

The API's own sentences name neither the kubeconfig nor a way out. Pure but for `in_words`, which puts them in place.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from paddock.cli.errors import Failed
from paddock.cli.places import Cluster
from paddock.jobs.phrases import Phrase, phrase
from paddock.kube.errors import ApiError, Forbidden, Unauthorized
from paddock.kube.times import Moment, format_time

_FORBIDDEN = re.compile(
    r'User "(?P<user>[^"]+)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]+)")?'
)
"""The sentence of Kubernetes' RBAC authorizer (k8s.io/apiserver, responsewriters)."""
_ROLE = "paddock-user"
_NEEDED = ("paddlejobs.batch.paddlepaddle.org", "pods", "pods/log", "configmaps", "events")
_VERBS = ("get", "list", "watch", "create", "patch", "delete")
"""What the verbs of the command line ask for, so that nobody is refused again at the next step."""


@contextmanager
def in_words(place: Cluster) -> Iterator[None]:
    """A refusal of the cluster within becomes a `Failed` with a sentence of ours."""
    try:
        yield
    except Unauthorized as error:
        raise Failed(explain_unauthorized(place, error, time.time())) from error
    except Forbidden as error:
        raise Failed(explain_forbidden(error)) from error


def explain_unauthorized(place: Cluster, error: ApiError, now: Moment) -> Phrase:
    """Who the kubeconfig says we are is not believed; where its certificate has expired, that is why."""
    source, server = place.config.source, place.config.server
    expired = read_expiry(place.config.certificate)
    if expired is not None and expired < now:
        return phrase(
            "{server} does not accept the client certificate of {source}: it expired at {time}. Get a new kubeconfig "
            "from who administers the cluster",
            server=server, source=source, time=format_time(expired),
        )  # fmt: skip
    return phrase(
        "{server} does not know who you are ({why}): the token or certificate of {source} is wrong or has expired. Get "
        "a new kubeconfig from who administers the cluster, or name another --context",
        server=server, source=source, why=error.message,
    )  # fmt: skip


def read_expiry(certificate: str | None) -> Moment | None:
    """When a client certificate (PEM) ends; None where there is none, or none that can be read."""
    if not certificate:
        return None
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(certificate.encode()).not_valid_after_utc.timestamp()
    except ValueError:
        return None


def explain_forbidden(error: ApiError) -> Phrase | str:
    """Which right, for whom, and the two commands that give it; a sentence of an admission plugin (a quota) stands as
    it is. The commands are for another's kubeconfig, so they name no context."""
    found = _FORBIDDEN.search(error.message)
    if found is None:
        return error.message
    resource = f"{found['resource']}.{found['group']}" if found["group"] else found["resource"]
    namespace, user = found["namespace"], found["user"]
    missing = phrase("{verb} {resource}", verb=found["verb"], resource=resource)
    scope, where, role, resources = "cluster", "", f"{_ROLE}-{resource}", resource
    if namespace:
        missing = phrase(
            "{verb} {resource} in namespace {namespace}", verb=found["verb"], resource=resource, namespace=namespace
        )
        scope, where, role = "", f" -n {namespace}", _ROLE
        resources = ",".join(dict.fromkeys((*_NEEDED, resource)))
    verbs = ",".join(dict.fromkeys((*_VERBS, found["verb"]))) if namespace else "get,list"
    return phrase(
        "{user} may not {right}. Who administers the cluster can allow what paddock needs there:\n  {first}\n"
        "  {second}",
        user=user,
        right=missing,
        first=f"kubectl create {scope}role {role}{where} --verb={verbs} --resource={resources}",
        second=f"kubectl create {scope}rolebinding {role}{where} --{scope}role={role} {_subject(user)}",
    )


def _subject(user: str) -> str:
    """`system:serviceaccount:NAMESPACE:NAME` is a service account's name as a user."""
    parts = user.split(":")
    if parts[:2] == ["system", "serviceaccount"] and len(parts) == 4:
        return f"--serviceaccount={parts[2]}:{parts[3]}"
    return f"--user={user}"

"""What a cluster answers to somebody it does not know, or who may not: which right is missing, whose it is, what to do.

The API's own sentences name neither the kubeconfig nor a way out. Pure but for `in_words`, which puts them in place.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
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
_CORE = '""'
_OF_JOBS = ("get", "list", "watch", "create", "patch", "delete")
_NEEDED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("batch.paddlepaddle.org", "paddlejobs"): _OF_JOBS,
    ("", "pods"): ("get", "list", "watch", "delete"),
    ("", "pods/log"): ("get",),
    ("", "configmaps"): ("create", "patch", "delete"),
    ("", "events"): ("list",),
}
"""What the verbs of the command line ask for, by API group and resource, so that nobody is refused again at the next
step, and no more: who may create pods can read each Secret of the namespace."""


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
    namespace, user, verb = found["namespace"], found["user"], found["verb"]
    if namespace:
        missing = phrase(
            "{verb} {resource} in namespace {namespace}", verb=verb, resource=resource, namespace=namespace
        )
        first = _build_role(namespace, (found["group"], found["resource"]), verb)
        second = f"kubectl create rolebinding {_ROLE} -n {namespace} --role={_ROLE} {_subject(user)}"
    else:
        missing, role = phrase("{verb} {resource}", verb=verb, resource=resource), f"{_ROLE}-{resource}"
        verbs = ",".join(dict.fromkeys(("get", "list", verb)))
        first = f"kubectl create clusterrole {role} --verb={verbs} --resource={resource}"
        second = f"kubectl create clusterrolebinding {role} --clusterrole={role} {_subject(user)}"
    return phrase(
        "{user} may not {right}. Who administers the cluster can allow what paddock needs there:\n\n{first}\n{second}",
        user=user, right=missing, first=first, second=second,
    )  # fmt: skip


def _build_role(namespace: str, refused: tuple[str, str], verb: str) -> str:
    """A command for a shell. `kubectl create role` gives every verb for every resource, so it is a manifest; it stands
    at the beginning of the line, where a shell finds the end of it."""
    rights = dict(_NEEDED)
    if refused[1] == "paddlejobs":  # of the other API group
        rights.setdefault(refused, _OF_JOBS)
    rights[refused] = tuple(dict.fromkeys((*rights.get(refused, ()), verb)))
    rules = [
        f"- {{apiGroups: [{group or _CORE}], resources: [{resource}], verbs: [{', '.join(verbs)}]}}"
        for (group, resource), verbs in rights.items()
    ]
    return "\n".join(
        (
            "kubectl apply -f - <<'END'",
            "apiVersion: rbac.authorization.k8s.io/v1",
            "kind: Role",
            f"metadata: {{name: {_ROLE}, namespace: {namespace}}}",
            "rules:",
            *rules,
            "END",
        )
    )


def _subject(user: str) -> str:
    """`system:serviceaccount:NAMESPACE:NAME` is a service account's name as a user."""
    parts = user.split(":")
    if parts[:2] == ["system", "serviceaccount"] and len(parts) == 4:
        return f"--serviceaccount={parts[2]}:{parts[3]}"
    return f"--user={user}"

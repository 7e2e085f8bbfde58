"""401 and 403 of a cluster as sentences: which right is missing, for which user, and the commands that grant it.

The API's own messages name neither the kubeconfig nor a remedy. Pure except `explained_refusals`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from paddock.cli.cluster.errors import Failed, build_phrase
from paddock.cli.cluster.places import Cluster
from paddock.cli.output.local_times import format_local_time
from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE
from paddock.kube.errors import ApiError, Forbidden, Unauthorized
from paddock.kube.times import Moment
from paddock.words.phrases import Phrase, phrase

_FORBIDDEN = re.compile(
    r'User "(?P<user>[^"]+)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]+)")?'
)
"""The sentence of Kubernetes' RBAC authorizer (k8s.io/apiserver, responsewriters)."""
_ROLE = "paddock-user"
_CORE = '""'
_OF_JOBS = ("get", "list", "watch", "create", "patch", "delete")
_NEEDED: Mapping[tuple[str, str], tuple[str, ...]] = {
    (PADDLEPADDLE.resource.group, PADDLEPADDLE.resource.plural): _OF_JOBS,
    ("", "pods"): ("get", "list", "watch", "delete"),
    ("", "pods/log"): ("get",),
    ("", "configmaps"): ("create", "patch", "delete"),
    ("", "events"): ("list",),
}
"""All rights that the verbs need, by (API group, resource), so that the next command is not refused as well. No right
to create pods: with it a user can read every Secret of the namespace."""


@contextmanager
def explained_refusals(place: Cluster) -> Iterator[None]:
    """Turns `Unauthorized` and `Forbidden` of the server into `Failed` with an explanation."""
    from paddock.client.errors import PluginError

    try:
        yield
    except PluginError:  # explains itself: no server was asked
        raise
    except Unauthorized as error:
        raise Failed(explain_unauthorized(place, error, time.time())) from error
    except Forbidden as error:
        raise Failed(explain_forbidden(error)) from error


def explain_unauthorized(place: Cluster, error: ApiError, now: Moment) -> Phrase:
    """The credentials of the kubeconfig are not accepted; names an expired certificate as the reason."""
    source, server = place.config.source, place.config.server
    if place.config.plugin is not None:
        return phrase(
            "{server} does not accept what {plugin} gave ({why}). Sign in again with the tools of the cluster's "
            "provider; if that changes nothing, who administers the cluster has to let this identity in",
            server=server, plugin=build_phrase(place.config.plugin.who), why=error.message,
        )  # fmt: skip
    expired = read_expiry(place.config.certificate)
    if expired is not None and expired < now:
        return phrase(
            "{server} does not accept the client certificate of {source}: it expired at {time}. Get a new kubeconfig "
            "from who administers the cluster",
            server=server, source=source, time=format_local_time(expired),
        )  # fmt: skip
    return phrase(
        "{server} does not know who you are ({why}): the token or certificate of {source} is wrong or has expired. Get "
        "a new kubeconfig from who administers the cluster, or name another --context",
        server=server, source=source, why=error.message,
    )  # fmt: skip


def read_expiry(certificate: str | None) -> Moment | None:
    """When a client certificate (PEM) expires; None if there is none, or it cannot be read."""
    if not certificate:
        return None
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(certificate.encode()).not_valid_after_utc.timestamp()
    except ValueError:
        return None


def explain_forbidden(error: ApiError) -> Phrase | str:
    """The missing right, the user, and two commands that grant it; the message of an admission plugin (a quota) is
    unchanged. An administrator runs the commands with another kubeconfig, so they name no context."""
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
    """A shell command with a manifest, as `kubectl create role` grants every verb for every resource. Its lines are not
    indented, as a here-document ends only at the start of a line."""
    rights = dict(_NEEDED)
    if refused in ((each.group, each.plural) for each in KINDS):
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
    """The subject of a binding; `system:serviceaccount:NAMESPACE:NAME` is a service account."""
    parts = user.split(":")
    if parts[:2] == ["system", "serviceaccount"] and len(parts) == 4:
        return f"--serviceaccount={parts[2]}:{parts[3]}"
    return f"--user={user}"

"""401 and 403 of a cluster as sentences: which right is missing, for which user, and the commands that grant it.

The API's own messages name neither the kubeconfig nor a remedy. Pure except `explained_refusals`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from paddock.cli.cluster.errors import Failed, build_phrase
from paddock.cli.cluster.places import Cluster
from paddock.cli.output.local_times import format_local_time
from paddock.jobs.apis.registry import KINDS, PADDLEPADDLE
from paddock.kube.errors import ApiError, Forbidden, Unauthorized
from paddock.kube.meta import DATASETS
from paddock.kube.times import Moment
from paddock.words.phrases import Phrase, phrase

_FORBIDDEN = re.compile(
    r'User "(?P<user>[^"]+)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]+)")?'
)
"""The sentence of Kubernetes' RBAC authorizer (k8s.io/apiserver, responsewriters)."""
_RBAC = "rbac.authorization.k8s.io"
_CORE = '""'
_OF_JOBS = ("get", "list", "watch", "create", "patch", "delete")
Rights: TypeAlias = Mapping[tuple[str, str], tuple[str, ...]]
"""Verbs, by (API group, resource)."""
_NEEDED: Rights = {
    (PADDLEPADDLE.resource.group, PADDLEPADDLE.resource.plural): _OF_JOBS,
    ("", "pods"): ("get", "list", "watch", "delete"),
    ("", "pods/log"): ("get",),
    ("", "configmaps"): ("create", "patch", "delete"),
    ("", "events"): ("list",),
    ("", "resourcequotas"): ("list",),
    ("", "limitranges"): ("list",),
}
"""All rights that the verbs need, by (API group, resource), so that the next command is not refused as well. No right
to create pods: with it a user can read every Secret of the namespace."""
_STREAMS = tuple(("", f"pods/{name}") for name in ("exec", "portforward"))
"""Added where one of them is refused, or a pod of ours, which one of them leads into. A WebSocket is opened by GET, so
Kubernetes asks for `get`, and from 1.35 on for `create` too (AuthorizePodWebsocketUpgradeCreatePermission). Who has
them can do what the job can, so nobody is told to grant them who has not asked."""

_TOGETHER: Rights = {
    ("", "secrets"): ("get", "create", "update", "patch", "delete"),
    (DATASETS.group, DATASETS.plural): ("get", "list", "watch", "create", "update", "patch", "delete"),
}
"""What one feature needs, added where one of its rights is refused: --secret and --env-file make a Secret, which goes
with its job; `paddock dataset` makes, follows and deletes Datasets. Else an administrator would be asked again for each
verb."""


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


def explain_forbidden(error: ApiError, only: Rights | None = None) -> Phrase | str:
    """The missing right, the user, and a command that grants it; of a quota of jobs, what counts. Any other message of
    an admission plugin is unchanged. An administrator runs the command with another kubeconfig, so it names none.
    `only`: what is granted in a namespace that is not for jobs, in place of what the verbs need."""
    found = _FORBIDDEN.search(error.message)
    if found is None:
        return _explain_counted(error.message) or error.message
    resource = f"{found['resource']}.{found['group']}" if found["group"] else found["resource"]
    namespace, user, verb = found["namespace"], found["user"], found["verb"]
    refused = (found["group"], found["resource"])
    missing = phrase("{verb} {resource}", verb=verb, resource=resource)
    rights: Rights = {refused: tuple(dict.fromkeys(("get", "list", verb)))}
    if namespace:
        missing = phrase(
            "{verb} {resource} in namespace {namespace}", verb=verb, resource=resource, namespace=namespace
        )
        rights = only or _list_rights(refused, verb)
    more = f"-{resource}" if refused in _TOGETHER else f"-{verb}-{resource}"
    name = _name_role(user, "" if namespace and rights == _NEEDED else more)
    return phrase(
        "{user} may not {right}. Who administers the cluster can allow what paddock needs there:\n\n{command}",
        user=user, right=missing, command=_write_grant(name, namespace or "", user, rights),
    )  # fmt: skip


_FILLING: Rights = {
    ("", "persistentvolumeclaims"): ("get", "list", "create", "patch", "delete"),
    ("", "pods"): ("get", "list", "watch", "create", "delete"),
    ("", "pods/exec"): ("get", "create"),
}
"""Added where claims are refused, which `paddock run -r` fills by a pod of the user's (`cli.submit.filled_claims`). Who
may create pods can read every Secret of the namespace, so nobody is told to grant it who has not asked."""


def _explain_counted(message: str) -> Phrase | None:
    """That a quota takes no more jobs; None for any other message."""
    from paddock.kube.quotas import read_exceeded  # late: for a sentence alone

    exceeded = read_exceeded(message)
    jobs = next((each for each in KINDS if exceeded is not None and f"count/{each.qualified}" in exceeded.asked), None)
    if exceeded is None or jobs is None:
        return None
    name = f"count/{jobs.qualified}"
    return phrase(
        "the quota {quota} allows {hard} of {kinds}, and {used} are there; those that have ended count too, until they "
        "are deleted",
        quota=exceeded.quota, kinds=jobs.qualified, hard=exceeded.hard[name], used=exceeded.used.get(name, "0"),
    )  # fmt: skip


def _list_rights(refused: tuple[str, str], verb: str) -> Rights:
    rights = dict(_NEEDED)
    if refused == ("", "persistentvolumeclaims"):
        rights |= _FILLING
    if refused in _STREAMS or (refused, verb) == (("", "pods"), "create"):
        rights |= dict.fromkeys(_STREAMS, ("get", "create"))
    if refused in ((each.group, each.plural) for each in KINDS):
        rights.setdefault(refused, _OF_JOBS)
    rights[refused] = tuple(dict.fromkeys((*rights.get(refused, _TOGETHER.get(refused, ())), verb)))
    return rights


def _name_role(user: str, more: str) -> str:
    """Of the role and of its binding: another name for each user, and for each right that is not among the usual, so
    that no command takes away what another has given, or what the administrator has written. RBAC takes any name that
    is one segment of a path."""
    return re.sub(r"[/%]", "-", f"paddock-{user}{more}")


def _write_grant(name: str, namespace: str, user: str, rights: Rights) -> str:
    """A shell command with a role and its binding, which can be typed again: `kubectl create role` grants every verb
    for every resource, and refuses what is there. `namespace`: empty for the whole cluster. Its lines are not indented,
    as a here-document ends only at the start of a line."""
    scope, place = ("", f", namespace: {namespace}") if namespace else ("Cluster", "")
    quoted = json.dumps(name, ensure_ascii=False)
    rules = [
        f"- {{apiGroups: [{group or _CORE}], resources: [{resource}], verbs: [{', '.join(verbs)}]}}"
        for (group, resource), verbs in rights.items()
    ]
    return "\n".join(
        (
            "kubectl apply -f - <<'END'",
            f"apiVersion: {_RBAC}/v1",
            f"kind: {scope}Role",
            f"metadata: {{name: {quoted}{place}}}",
            "rules:",
            *rules,
            "---",
            f"apiVersion: {_RBAC}/v1",
            f"kind: {scope}RoleBinding",
            f"metadata: {{name: {quoted}{place}}}",
            f"roleRef: {{apiGroup: {_RBAC}, kind: {scope}Role, name: {quoted}}}",
            f"subjects: [{_write_subject(user)}]",
            "END",
        )
    )


def _write_subject(user: str) -> str:
    """The subject of a binding; `system:serviceaccount:NAMESPACE:NAME` is a service account."""
    parts = user.split(":")
    if parts[:2] == ["system", "serviceaccount"] and len(parts) == 4:
        return f"{{kind: ServiceAccount, name: {parts[3]}, namespace: {parts[2]}}}"
    return f"{{apiGroup: {_RBAC}, kind: User, name: {json.dumps(user, ensure_ascii=False)}}}"

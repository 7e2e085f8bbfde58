"""Reviews: questions to the API about users and their rights, which are answered and not stored.

For `kubectl auth can-i` and `whoami`, and for whoever lets the API decide for them (the console). Source: Kubernetes,
authorization/v1 and authentication/v1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from paddock.apiserver.access.attributes import Attributes
from paddock.apiserver.access.tokens import AUDIENCE
from paddock.apiserver.access.users import OWNER, User
from paddock.apiserver.objects.access import Access
from paddock.kube.errors import BadRequest
from paddock.kube.meta import Manifest

_AUTHORIZATION, _AUTHENTICATION = "authorization.k8s.io", "authentication.k8s.io"
_LOCAL = "localsubjectaccessreviews"
_MOST_GROUPS = 1_000
"""Each is looked for among the bindings, and all others wait meanwhile."""


def is_review(group: str, version: str, plural: str, namespace: str) -> bool:
    """`namespace`: of the path. One alone is of a namespace: a right in it is no right to ask anything else."""
    return version == "v1" and (group, plural) in _REVIEWS and bool(namespace) is (plural == _LOCAL)


def build_review(access: Access, user: User, group: str, plural: str, namespace: str, body: Any) -> Manifest:
    """The response to a POSTed review of `user`; `namespace`: of the path. Raises `BadRequest`."""
    kind, answer = _REVIEWS[group, plural]
    spec = body.get("spec") if isinstance(body, Mapping) else None
    spec = spec if isinstance(spec, Mapping) else {}
    review: Manifest = {"kind": kind, "apiVersion": f"{group}/v1", "metadata": {"creationTimestamp": None}}
    return (
        review
        | ({"spec": spec} if kind != "SelfSubjectReview" else {})
        | {"status": answer(access, user, spec, namespace)}
    )


def _review_access(access: Access, user: User, spec: Mapping[str, Any], namespace: str) -> Manifest:
    decision = access.decide(user, _read_attributes(spec, namespace))
    return {"allowed": decision.allowed} | ({"reason": decision.reason} if decision.reason else {})


def _review_other(access: Access, user: User, spec: Mapping[str, Any], namespace: str) -> Manifest:
    name, groups = str(spec.get("user") or ""), _list_texts(spec, "groups")
    if not name and not groups:
        raise BadRequest("spec.user or spec.groups of the review says who is asked for: found neither")
    if len(groups) > _MOST_GROUPS:
        raise BadRequest(f"spec.groups of the review has {len(groups)} groups, of {_MOST_GROUPS} that can be asked for")
    other = User(name, groups, str(spec.get("uid") or ""))
    return _review_access(access, other, spec, namespace)


def _review_rules(access: Access, user: User, spec: Mapping[str, Any], namespace: str) -> Manifest:
    wanted = str(spec.get("namespace") or "")
    if not wanted:
        raise BadRequest("spec.namespace of the review is not set: rules are those of one namespace")
    rules = access.list_rules(user, wanted)
    return {
        "resourceRules": [rule.build() for rule in rules if not rule.paths],
        "nonResourceRules": [rule.build() for rule in rules if rule.paths],
        "incomplete": False,
    }


def _review_self(access: Access, user: User, spec: Mapping[str, Any], namespace: str) -> Manifest:
    return {"userInfo": user.build_info()}


def _review_token(access: Access, user: User, spec: Mapping[str, Any], namespace: str) -> Manifest:
    asked, token = _list_texts(spec, "audiences") or (AUDIENCE,), str(spec.get("token") or "")
    if access.is_owner(token) and AUDIENCE in asked:
        return {"authenticated": True, "user": OWNER.build_info(), "audiences": [AUDIENCE]}
    claims = access.find_claims(token)
    if claims is None:
        return {"authenticated": False, "error": "the token is none of this cluster's, or is not valid any more"}
    known = frozenset(claims.audiences)
    audiences = [each for each in asked if each in known]
    if not audiences:
        return {"authenticated": False, "error": f"the token is for {', '.join(claims.audiences)}"}
    return {"authenticated": True, "user": claims.user.build_info(), "audiences": audiences}


def _list_texts(spec: Mapping[str, Any], field: str) -> tuple[str, ...]:
    found = spec.get(field) or ()
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) for each in found):
        raise BadRequest(f"spec.{field} of the review is a list of texts: found {found!r:.100}")
    return tuple(found)


_Answer = Callable[[Access, User, Mapping[str, Any], str], Manifest]
_REVIEWS: Mapping[tuple[str, str], tuple[str, _Answer]] = {
    (_AUTHORIZATION, "selfsubjectaccessreviews"): ("SelfSubjectAccessReview", _review_access),
    (_AUTHORIZATION, "subjectaccessreviews"): ("SubjectAccessReview", _review_other),
    (_AUTHORIZATION, "localsubjectaccessreviews"): ("LocalSubjectAccessReview", _review_other),
    (_AUTHORIZATION, "selfsubjectrulesreviews"): ("SelfSubjectRulesReview", _review_rules),
    (_AUTHENTICATION, "selfsubjectreviews"): ("SelfSubjectReview", _review_self),
    (_AUTHENTICATION, "tokenreviews"): ("TokenReview", _review_token),
}


def _read_attributes(spec: Mapping[str, Any], namespace: str) -> Attributes:
    """What is asked for; `namespace`, of the path of a LocalSubjectAccessReview, must be that of the question."""
    if not namespace and isinstance(path := spec.get("nonResourceAttributes"), Mapping):
        return Attributes(str(path.get("verb") or ""), path=str(path.get("path") or ""))
    asked = spec.get("resourceAttributes")
    if not isinstance(asked, Mapping):
        raise BadRequest("spec of the review has neither resourceAttributes nor nonResourceAttributes")
    verb, group, resource, subresource, within, name = (
        str(asked.get(field) or "") for field in ("verb", "group", "resource", "subresource", "namespace", "name")
    )
    if namespace and within != namespace:
        raise BadRequest(f"spec.resourceAttributes.namespace must match namespace: {namespace}, found {within!r:.100}")
    return Attributes(verb, group, resource, subresource, within, name)

"""Access reviews, for `kubectl auth can-i` and `whoami`. Pure.

The embedded cluster has one user, the holder of its token, who may do everything: every review is allowed.
"""

from __future__ import annotations

from typing import Any

from paddock.kube.meta import Manifest

USER: Manifest = {"username": "paddock", "groups": ["system:masters", "system:authenticated"]}

_KINDS = {
    ("authorization.k8s.io", "v1", "selfsubjectaccessreviews"): "SelfSubjectAccessReview",
    ("authorization.k8s.io", "v1", "selfsubjectrulesreviews"): "SelfSubjectRulesReview",
    ("authentication.k8s.io", "v1", "selfsubjectreviews"): "SelfSubjectReview",
}


def is_review(group: str, version: str, plural: str) -> bool:
    return (group, version, plural) in _KINDS


def build_review(group: str, version: str, plural: str, body: Any) -> Manifest:
    """The response to a POSTed review."""
    kind = _KINDS[group, version, plural]
    spec = body.get("spec") if isinstance(body, dict) else None
    review: Manifest = {"kind": kind, "apiVersion": f"{group}/{version}", "metadata": {"creationTimestamp": None}}
    if kind == "SelfSubjectAccessReview":
        return review | {
            "spec": spec or {},
            "status": {"allowed": True, "reason": "the holder of the token may do everything"},
        }
    if kind == "SelfSubjectReview":
        return review | {"status": {"userInfo": USER}}
    everything = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    anywhere = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
    status = {"resourceRules": everything, "nonResourceRules": anywhere, "incomplete": False}
    return review | {"spec": spec or {}, "status": status}

"""Whether the account of an API may do something, by the API server's own answer."""

from __future__ import annotations

from paddock.kube.api import Api
from paddock.kube.meta import Resource

ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)


async def fetch_allowed(api: Api, verb: str, resource: Resource, namespace: str, subresource: str) -> bool:
    """A SelfSubjectAccessReview, which each account may ask for (`system:basic-user`). Raises `ApiError`."""
    attributes = {"verb": verb, "group": resource.group, "resource": resource.plural, "namespace": namespace}
    if subresource:
        attributes["subresource"] = subresource
    review = {
        "apiVersion": ACCESS_REVIEWS.api_version,
        "kind": ACCESS_REVIEWS.kind,
        "spec": {"resourceAttributes": attributes},
    }
    answer = await api.create(ACCESS_REVIEWS, review)
    return bool((answer.get("status") or {}).get("allowed"))

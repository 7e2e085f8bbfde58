"""Whom the API takes this program for: the name under which it records who did something to a job.

One place for the command line, the Python calls and the console. The name of the machine's login says nothing on a
cluster: whoever may choose it could be anybody (docs/decisions/0081).
"""

from __future__ import annotations

import os
import pwd
import socket

from paddock.kube.api import Api
from paddock.kube.errors import ApiError, Forbidden, NotFound
from paddock.kube.meta import Resource
from paddock.kube.user_names import write_login

_GROUP = "authentication.k8s.io"
_VERSIONS = ("v1", "v1beta1", "v1alpha1")
"""SelfSubjectReview: 1.28 and later, 1.27, 1.26."""


async def fetch_user(api: Api) -> str:
    """The user that the API takes this client for, with impersonation the one who is impersonated (SelfSubjectReview);
    empty for a server before Kubernetes 1.26, which says it to nobody. Raises `ApiError`."""
    for version in _VERSIONS:
        review = Resource(_GROUP, version, "SelfSubjectReview", "selfsubjectreviews", namespaced=False)
        try:
            answer = await api.create(review, {"apiVersion": review.api_version, "kind": review.kind})
        except (NotFound, Forbidden):  # an old server has no right that would let anybody ask
            continue
        user = (answer.get("status") or {}).get("userInfo") or {}
        return str(user.get("username") or "")
    return ""


async def fetch_own_name(api: Api, *, local: bool) -> str:
    """Who acts here, for an annotation of the job. `local`: the API is that of the user's own laptop, which belongs to
    a login; its own name for its owner says nothing more. Where no API tells it: the login and its machine. Raises
    nothing: what is done for somebody is not to fail for their name."""
    if local:
        return find_login()
    try:
        name = await fetch_user(api)
    except ApiError:  # who may do nothing here is told so by what they want to do
        name = ""
    login = "" if name else find_login()
    return name or (write_login(login, socket.gethostname()) if login else "")


def find_login() -> str:
    """The name of the process's user, by the number that the kernel knows: LOGNAME and USER may say anything. Empty for
    a number without a name, as in a container."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""

"""What a server says of a document before it is created: the one dry run of all that submit, check or explain one.

It covers what only the cluster knows: admission plugins, quotas, namespaces, served kinds.
"""

from __future__ import annotations

from collections.abc import Collection

from paddock.kube.api import Api
from paddock.kube.errors import ApiError, Forbidden, NotFound, Unauthorized
from paddock.kube.meta import Key
from paddock.preflight.companions import SERVICES
from paddock.submission.documents import Checked
from paddock.submission.merging import merge
from paddock.views.flags import Flags
from paddock.words.phrases import Phrase, phrase


async def fetch_refusal(api: Api, each: Checked, *, merges: bool = False) -> ApiError | None:
    """What a server that is shown the document (dryRun=All, strict) refuses it for; None if it takes it. `merges`: it
    is to be merged into what is there. Raises what is not about the document: `Forbidden` and `Unauthorized` are about
    the user, 5xx about the server."""
    try:
        if merges:
            await merge(api, each, dry_run=True)
        else:
            await api.create(each.resource, each.manifest, strict=True, dry_run=True)
    except (Forbidden, Unauthorized):
        raise
    except ApiError as error:
        if error.code >= 500:
            raise
        return error
    return None


def is_awaited(error: ApiError, brought: Collection[Key]) -> bool:
    """Whether what is lacking is a namespace that a document of the same files makes, before all others. Pure.
    `brought`: the keys of the Namespaces among them."""
    return isinstance(error, NotFound) and error.kind == "namespaces" and Key("", error.name) in brought


def explain_left_out(each: Checked, error: ApiError | None, *, is_local: bool) -> Phrase | None:
    """That a kind which a cluster alone runs is left out of what is sent to a laptop; None for any other document. A
    laptop's API stores a Deployment, and nothing acts on it. `error`: of `fetch_refusal`. Pure."""
    is_unserved = isinstance(error, NotFound) and not error.name
    if not is_local or each.is_job or not (is_unserved or each.resource in SERVICES):
        return None
    return phrase("{object} is left out: a laptop runs no {kind}", object=each.label, kind=each.resource.kind)


def explain_refused(each: Checked, error: ApiError, flags: Flags) -> Phrase | str:
    """The server's message, which is English; for a missing namespace or kind what to do."""
    if not isinstance(error, NotFound):
        return error.message
    if error.kind == "namespaces" and error.name:
        return phrase(
            "there is no namespace {name}: `{command}` makes it, -n names another",
            name=error.name, command=f"{flags.kubectl} create namespace {error.name}",
        )  # fmt: skip
    if error.name:
        return error.message
    if each.is_job:
        name = each.resource.qualified
        return phrase(
            "the cluster serves no {kind} of {version}: `{command}` installs the kind, and the operator takes it with "
            "--kinds={name}",
            kind=each.resource.kind, version=each.resource.api_version, name=name,
            command=f"paddock manifests crd --kinds {name} | {flags.kubectl} apply -f -",
        )  # fmt: skip
    return phrase(
        "the cluster serves no {kind} of {version}: leave it out, or have it installed (`{command}` shows what there "
        "is)",
        kind=each.resource.kind, version=each.resource.api_version, command=f"{flags.kubectl} api-resources",
    )  # fmt: skip

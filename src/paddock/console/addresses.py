"""The addresses of what a page is about, the same on a laptop and on a cluster. Pure.

/jobs/NAMESPACE/KIND/NAME        KIND: the plural, with the group where two groups have it (`paddlejobs.kubeflow.org`);
                                 as people write it (`PyTorchJob`), it leads there
/c/CONTEXT/jobs/...              the same in a console of several clusters; `/` is then the list of all of them
/s/PLACE/...                     where a session has all of this; outside are sign-in and files alone

Screens and `next` of a sign-in write addresses without the place: whoever sends a page puts it before them.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from paddock.history.answers import PREFIX
from paddock.jobs.apis.registry import KINDS, KINDS_BY_WORD
from paddock.kube.meta import Resource

TABS = ("job", "logs", "charts", "runs", "outputs", "plan", "doctor", "pods", "events", "manifest")
"""The pages of a job, by the names of their screens, in the order of their links."""

JOB = "/jobs/{namespace}/{kind}/{name}"
LOGS = JOB + "/logs"


ENVIRONMENT = "/environments/{name}"


def address_of_environment(name: str) -> str:
    return f"/environments/{quote(name)}"


DATASET = "/datasets/{namespace}/{name}"


def address_of_dataset(namespace: str, name: str) -> str:
    return f"/datasets/{quote(namespace)}/{quote(name)}"


def address_of_job(resource: Resource, namespace: str, name: str) -> str:
    return f"/jobs/{quote(namespace)}/{name_kind(resource)}/{quote(name)}"


def address_of_list(namespace: str) -> str:
    """The list of jobs; `namespace`: empty for all."""
    return f"/?namespace={quote(namespace)}" if namespace else "/"


CLUSTERS = "/c/"


def address_of_cluster(context: str) -> str:
    """Where the pages of this cluster begin. Contexts are any text (`arn:aws:eks:eu-west-1:123456789012:cluster/prod`):
    what is no plain character of a path is `~` and two digits for each byte of UTF-8. Not `%2F`, which proxies and
    servers take for a slash; and no name is `.` or `..`, which browsers resolve."""
    written = re.sub(r"[^A-Za-z0-9._:@-]", _write_bytes, context)
    return CLUSTERS + (written.replace(".", "~2E") if written in (".", "..") else written)


def _write_bytes(found: re.Match[str]) -> str:
    return "".join(f"~{byte:02X}" for byte in found[0].encode("utf-8", "surrogateescape"))


SIGN_IN, SIGN_OUT, STATIC = "/sign-in", "/sign-out", "/static/"
KEPT = PREFIX
"""Of answers for programs, each of whose requests has a token."""


def is_public(path: str) -> bool:
    """Whether it needs no session."""
    return path == SIGN_IN or path.startswith((SIGN_IN + "/", STATIC, KEPT))


SESSIONS = "/s/"


def address_of_session(place: str) -> str:
    """Where the pages of this session begin; its cookie goes to no other address."""
    return SESSIONS + place


def split_place(path: str) -> tuple[str, str]:
    """(the place of a session, or empty; the address within it), of a path with or without a query."""
    found = _PLACE.match(path)
    return (found[1], path[found.end() :] or "/") if found else ("", path)


_PLACE = re.compile(f"{SESSIONS}([A-Za-z0-9_-]+)(?=[/?#]|$)")


def put_below(root: str, address: str) -> str:
    """A screen's address, for the browser: below `root`, where the session has the pages of this cluster. What is of
    all clusters is below the session alone, and what needs none stays."""
    if not address.startswith("/") or address.startswith(("//", SESSIONS, SIGN_IN, STATIC)):
        return address
    if address.startswith((CLUSTERS, SIGN_OUT)):
        return root.partition(CLUSTERS)[0] + address
    return root + address


def put_page_below(root: str, page: str) -> str:
    """A page or a part of one, whose links and forms are below `root`. Text of users and programs has no quotation mark
    that is not escaped, so it never looks like an attribute."""
    if not root:
        return page
    return _LINK.sub(lambda found: found[1] + put_below(root, found[2]), page)


_LINK = re.compile(r'( (?:href|action|formaction|data-address)=")(/[^"]*)')


def name_kind(resource: Resource) -> str:
    shared = sum(each.plural == resource.plural for each in KINDS) > 1
    return resource.qualified if shared else resource.plural


def find_kind(name: str) -> Resource | None:
    """The kind of an address; None for one that has no jobs."""
    return next((each for each in KINDS if name in (name_kind(each), each.qualified)), None)


def find_meant(name: str) -> tuple[Resource, ...]:
    """The kinds that a person may have meant who wrote an address with `PyTorchJob` or `ptj`; none of one that is right
    as it is."""
    return () if find_kind(name) else KINDS_BY_WORD.get(name.lower(), ())


def put_kind(path: str, resource: Resource) -> str:
    """The address of a page of a job, with this kind."""
    head, namespace, _, rest = path.removeprefix("/").split("/", 3)
    return f"/{head}/{namespace}/{name_kind(resource)}/{rest}"


def read_whole(text: str, digits: int = 9) -> int | None:
    """A number from 0 on, of at most so many digits, as an address names it; None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None


def read_next(text: str) -> str:
    """Where a sign-in goes on: a path of this console, else its first page. A link that others made may name any place,
    and browsers take `//site`, `/\\site` and what has a line end or a tab in it for another site. The place of the
    session in which it was asked for is left out: the next session has another."""
    text = split_place(text)[1]
    local = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isascii() and text.isprintable()
    return text if local and not text.startswith(("/sign-", SESSIONS)) else "/"

"""A change of an environment, as `paddock env update` makes it: packages, Python, index, build of PyTorch, images.

One that was made of files is made of them again, as they are now, with the packages that are typed beside them; of any
other all packages are typed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from paddock.console.addresses import ENVIRONMENT, address_of_environment
from paddock.console.feed import Topic
from paddock.console.page_context import Missing, PageContext, Redirect, Screen
from paddock.console.reader_locks import work_to_the_end
from paddock.console.screens.environment import explain_absence
from paddock.console.screens.environments import ONLY_HERE
from paddock.environments.changes import Changes, change_environment, find_change_problems, is_built_anew
from paddock.environments.manifests import PYTHONS, with_request
from paddock.environments.pytorch.builds import AUTO, CPU, PLAIN
from paddock.environments.requirement_files import Requirements, read_requirements
from paddock.environments.seeding import is_as_seeded
from paddock.environments.sources import read_source
from paddock.kube.errors import ApiError, Conflict, NotFound
from paddock.kube.meta import ENVIRONMENTS, Manifest
from paddock.kube.times import format_time
from paddock.words.phrases import Foreign, Phrase, phrase

_FILE = "requirements.txt"
_MOST_TRIES = 5
"""Of a change that the builder's status came in between."""


@dataclass(frozen=True, slots=True)
class Typed:
    """What somebody typed."""

    packages: str = ""
    """On lines: beside those of its files, or all of them."""
    python: str = ""
    index_url: str = field(default="", repr=False)
    """In place of its own, which is not shown, as it may hold a password; empty leaves that as it is."""
    torch_backend: str = ""
    images: str = ""
    """Patterns on lines, or between commas or spaces."""
    variables: str = ""
    """`NAME=value` on lines, beside its own."""


def list_topics(_path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    return []


async def build(page: PageContext) -> Mapping[str, Any]:
    before = await _fetch(page)
    return await _show(page, before, read_typed_of(before), [])


async def receive(page: PageContext, posted: Mapping[str, str]) -> Mapping[str, Any] | Redirect:
    typed = Typed(**{name: posted.get(name, "") for name in Typed.__slots__})
    before = await _fetch(page)
    for _ in range(_MOST_TRIES):
        problems, after = await work_to_the_end(partial(plan, before, typed, page.now))
        if problems:
            return await _show(page, before, typed, [page.say(each) for each in problems])
        try:
            await page.api.replace(ENVIRONMENTS, after, strict=True)
        except Conflict:
            before = await _fetch(page)
            continue
        except ApiError as error:
            said = phrase("the server refuses it: {why}", why=Foreign(error.message))
            return await _show(page, before, typed, [page.say(said)])
        return Redirect(address_of_environment(page.path["name"]))
    said = phrase("environment {name} is being changed by somebody else: try again", name=page.path["name"])
    return await _show(page, before, typed, [page.say(said)])


def read_typed_of(environment: Mapping[str, Any]) -> Typed:
    """What the form begins with."""
    spec, source = environment.get("spec") or {}, read_source(environment)
    packages = source.added if source else spec.get("requirements") or ()
    images = ", ".join(spec.get("images") or ())
    return Typed("\n".join(packages), spec.get("python") or "", "", spec.get("torchBackend") or "", images)


def plan(before: Manifest, typed: Typed, now: float) -> tuple[list[Phrase], Manifest]:
    """What is wrong, and the Environment with what was typed. Reads the files that it was made of."""
    source = read_source(before)
    there = list(source.added if source else (before.get("spec") or {}).get("requirements") or ())
    wanted = [each.strip() for each in typed.packages.split("\n") if each.strip()]
    changes = Changes(
        images=tuple(each for each in re.split(r"[\s,]+", typed.images) if each),
        index_url=typed.index_url.strip(),
        variables=tuple(each.strip() for each in typed.variables.split("\n") if each.strip()),
        python=typed.python.strip(),
        torch_backend=typed.torch_backend.strip(),
    )
    if source is None:
        read = [read_requirements(_FILE, lambda file: _read_typed(file, typed))]
    else:
        read = [read_requirements(file) for file in source.files]
        added = tuple(each for each in wanted if each not in there)
        removed = tuple(each for each in there if each not in wanted)
        # What is typed with another version takes the place of its old entry by itself.
        changes = replace(changes, added=added, removed=() if _is_only_changed(added, removed) else removed)
    if problems := find_change_problems(changes, read, source, before):
        return problems, before
    kept = before if source else _with_packages(before, read[0])
    files = read if source else []
    after = _without_emptied(change_environment(kept, files, source, changes, format_time(now)), typed)
    if is_built_anew(before.get("spec") or {}, after["spec"]):
        after = with_request(after, now)
    return [], after


def _with_packages(before: Manifest, read: Requirements) -> Manifest:
    """All packages of one that was made of no file; an index stays unless their text names another."""
    spec = {**(before.get("spec") or {}), "requirements": list(dict.fromkeys(read.packages))}
    named = {"indexURL": read.index_url, "extraIndexURLs": read.extra_index_urls, "pipOptions": read.options}
    return {**before, "spec": spec | {name: value for name, value in named.items() if value}}


def _is_only_changed(added: Sequence[str], removed: Sequence[str]) -> bool:
    names = {re.split(r"[^\w.-]", each, maxsplit=1)[0].lower() for each in added}
    return all(re.split(r"[^\w.-]", each, maxsplit=1)[0].lower() in names for each in removed)


def _without_emptied(environment: Manifest, typed: Typed) -> Manifest:
    """An option of a command that is empty was not typed; a field that is empty was emptied."""
    emptied = {"python": typed.python, "torchBackend": typed.torch_backend, "images": typed.images}
    gone = {name for name, text in emptied.items() if not text.strip()}
    return {**environment, "spec": {name: value for name, value in environment["spec"].items() if name not in gone}}


def _read_typed(file: str, typed: Typed) -> str:
    """What is typed in a browser reads no file of this machine."""
    if file != _FILE:
        raise FileNotFoundError(2, "", file)
    return typed.packages


async def _fetch(page: PageContext) -> Manifest:
    if page.backend.read_build_log is None:
        raise Missing(ONLY_HERE)
    try:
        return await page.api.get(ENVIRONMENTS, "", page.path["name"])
    except NotFound:
        raise Missing(explain_absence(page.path["name"], [])) from None


async def _show(page: PageContext, before: Manifest, typed: Typed, problems: Sequence[str]) -> Mapping[str, Any]:
    source, spec = read_source(before), before.get("spec") or {}
    return {
        "name": page.path["name"],
        "address": address_of_environment(page.path["name"]),
        "typed": typed,
        "files": source.files if source else (),
        "has_index": bool(spec.get("indexURL")),
        "is_seeded": is_as_seeded(before),
        "problems": problems,
        "pythons": [f"=={each}.*" for each in PYTHONS],
        "builds": [AUTO, CPU, PLAIN],
        "may": await page.may("update", ENVIRONMENTS, ""),
    }


SCREEN = Screen(
    "environment_edit", f"{ENVIRONMENT}/edit", phrase("Change"), list_topics, build, live=False, receive=receive
)

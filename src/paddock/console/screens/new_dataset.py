"""A new dataset: its name and its address, and what an address of its kind may need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.console.addresses import address_of_dataset
from paddock.console.feed import Topic
from paddock.console.page_context import PageContext, Redirect, Screen
from paddock.console.screens.datasets import error_of, explain_error
from paddock.datasets.manifests import Asked, build_manifest, find_problems, find_unreachable
from paddock.datasets.options import OPTIONS
from paddock.kube.errors import AlreadyExists, ApiError, Forbidden, Invalid, NotFound
from paddock.kube.meta import DATASETS, Manifest
from paddock.kube.validation.names import DNS_LABEL
from paddock.words.phrases import Foreign, Phrase, phrase


@dataclass(frozen=True, slots=True)
class Field:
    """One input."""

    id: str
    """Of `Asked`, or `namespace`."""
    path: str
    """Of its value in the manifest."""
    label: Phrase
    hint: str = ""
    """What is typed, as an example."""
    about: Phrase | None = None
    """A sentence below it."""
    cluster: bool = False
    """It is only asked for on a cluster."""


WHAT = (
    Field("name", "metadata.name", phrase("Name"), "imagenet"),
    Field("namespace", "metadata.namespace", phrase("Namespace")),
    Field("uri", "spec.source.uri", phrase("Address"), "https://…/train.tar"),
)
"""What every dataset has."""
MORE = tuple(
    Field(name, each.path, each.label, each.hint, each.about, cluster=not each.is_of_source)
    for name, each in OPTIONS.items()
    if each.label
)
"""What an address of some kind may need."""

ADDRESSES: Sequence[tuple[str, Phrase]] = (
    ("https://HOST/FILE", phrase("one file, with a checksum if you have one")),
    ("s3://BUCKET/PREFIX", phrase("what lies under a prefix of S3, OSS, BOS, OBS or MinIO")),
    ("git+https://HOST/REPOSITORY.git", phrase("a repository; also git+ssh://")),
    ("hf://datasets/NAME", phrase("a dataset of Hugging Face; hf://NAME is a model")),
    ("modelscope://datasets/NAME", phrase("the same of ModelScope")),
    ("file:///DIRECTORY", phrase("a directory of this machine; nothing is copied")),
    ("claim://NAME", phrase("a PersistentVolumeClaim of the namespace; nothing is copied")),
)

Wrong = Mapping[str, Sequence[str]]
"""By the id of a field, what is wrong with it; what is of no field has the id ``""``."""


def list_topics(_path: Mapping[str, str], _query: Mapping[str, str]) -> Sequence[Topic]:
    return [Topic(DATASETS)]  # whether the kind is served


async def build(page: PageContext) -> Mapping[str, Any]:
    typed = {"namespace": page.query.get("namespace") or page.backend.namespace, "name": page.query.get("name", "")}
    return _show(page, typed, {})


async def receive(page: PageContext, posted: Mapping[str, str]) -> Mapping[str, Any] | Redirect:
    typed = {each.id: posted.get(each.id, "").strip() for each in (*WHAT, *MORE)}
    wrong = await _make(page, read_asked(typed), typed["namespace"])
    return _show(page, typed, wrong) if wrong else Redirect(address_of_dataset(typed["namespace"], typed["name"]))


def read_asked(typed: Mapping[str, str]) -> Asked:
    """Patterns stand on lines, or between commas. Pure."""
    options: dict[str, Any] = {
        name: _split(typed[name]) if each.is_list else typed[name] for name, each in OPTIONS.items() if name in typed
    }
    return Asked(typed["name"], typed["uri"], **options)


def _split(text: str) -> tuple[str, ...]:
    return tuple(each for part in re.split(r"[,\n]", text) if (each := part.strip()))


async def _make(page: PageContext, asked: Asked, namespace: str) -> Wrong:
    """What is wrong; nothing if it is created."""
    problems = find_problems(asked)
    if not page.backend.local and (unreachable := find_unreachable(asked.uri)):
        problems.append(("uri", unreachable))
    if not DNS_LABEL.allows(namespace):
        problems.append(("namespace", phrase("the name of a namespace is wanted, as in default")))
    if problems:
        return gather((field, page.say(said)) for field, said in problems)
    return await _create(page, build_manifest(asked, namespace))


def gather(problems: Iterable[tuple[str, str]]) -> Wrong:
    found: dict[str, list[str]] = {}
    for field, said in problems:
        found.setdefault(field, []).append(said)
    return found


async def _create(page: PageContext, manifest: Manifest) -> Wrong:
    """What the API refuses."""
    try:
        await page.api.create(DATASETS, manifest, strict=True)
    except AlreadyExists:
        name = manifest["metadata"]["name"]
        said = phrase("dataset {name} exists already: give this one another name", name=name)
        return {"name": [page.say(said)]}
    except Invalid as error:
        if error.causes:
            return gather(place_problem(each.field, page.translate(each.message)) for each in error.causes)
        return {"": [_refuse(page, error)]}
    except ApiError as error:
        of_kind = isinstance(error, NotFound) and not error.name  # else there is no such namespace
        return {"": [page.say(explain_error(page, error)) if of_kind else _refuse(page, error)]}
    return {}


def _refuse(page: PageContext, error: ApiError) -> str:
    return page.say(phrase("the server refuses it: {why}", why=Foreign(error.message)))


def place_problem(path: str, said: str) -> tuple[str, str]:
    """The field of a path; a path of no field stands before its sentence. Pure."""
    field = next((each.id for each in (*WHAT, *MORE) if each.path == path.partition("[")[0]), "")
    return field, said if field or not path else f"{path}: {said}"


def _show(page: PageContext, typed: Mapping[str, str], wrong: Wrong) -> Mapping[str, Any]:
    error = error_of(page, "")
    local = page.backend.local

    def show(fields: Sequence[Field]) -> list[Mapping[str, Any]]:
        return [
            {"id": each.id, "label": page.say(each.label), "hint": each.hint, "about": page.say(each.about or ""),
             "needed": each in WHAT, "value": typed.get(each.id, ""), "wrong": wrong.get(each.id, ())}
            for each in fields if not (each.cluster and local)
        ]  # fmt: skip

    return {
        "error": page.say(explain_error(page, error)) if error and not isinstance(error, Forbidden) else "",
        "what": show(WHAT),
        "more": show(MORE),
        "opened": any(typed.get(each.id) for each in MORE),
        "problems": wrong.get("", ()),
        "count": sum(map(len, wrong.values())),
        "addresses": [(each, page.say(said)) for each, said in ADDRESSES if local or not each.startswith("file:")],
        "command": f"paddock dataset create{page.backend.options} NAME --from URL",
    }


SCREEN = Screen("new_dataset", "/new-dataset", phrase("New dataset"), list_topics, build, live=False, receive=receive)

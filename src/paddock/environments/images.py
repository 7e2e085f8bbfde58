"""Matches an image to its Environment. Pure.

Names are compared in Docker's full form: `busybox` is `docker.io/library/busybox:latest`. Patterns are completed in
the same way; `*` matches any text, slashes included, so `*/paddlepaddle/paddle:*` also matches mirrors. The most
specific pattern wins: the one with the most characters that are not wildcards.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from paddock.environments.definition import Definition, read_definition
from paddock.kube.environments import ENVIRONMENT_ANNOTATION, PATH_ANNOTATION, read_default
from paddock.kube.meta import annotations_of, controller_of
from paddock.kube.nearness import nearest, rank
from paddock.words.phrases import Phrase, phrase


def match_image(pattern: str, image: str) -> bool:
    return bool(image) and fnmatchcase(complete_image(image), complete_image(pattern, tag="*"))


def read_named(image: str, pod: Mapping[str, Any]) -> str:
    """The Environment in the pod's annotation; `host` (the machine's programs) for a pod without an image; empty if
    the image decides."""
    return annotations_of(pod).get(ENVIRONMENT_ANNOTATION, "") or ("" if image else "host")


def read_path(pod: Mapping[str, Any]) -> str:
    """PATH of the shell that submitted the pod's job; empty where it is not said."""
    return annotations_of(pod).get(PATH_ANNOTATION, "")


@dataclass(frozen=True, slots=True)
class Choice:
    """What a container runs in."""

    definition: Definition | None
    """None: the container waits."""
    said: Phrase | None = None
    """Without a definition, why; with one, that the image stands for none and the default was taken."""


def choose(container: Mapping[str, Any], pod: Mapping[str, Any], definitions: Iterable[Definition]) -> Choice:
    """The Environment of a container of `pod`: the one that the pod names, else the one that the image stands for, else
    the container's default (`kube.environments`), where there is one."""
    known, image = {each.name: each for each in definitions}, str(container.get("image") or "")
    if named := read_named(image, pod):
        found = known.get(named)
        return Choice(found, None if found else explain_no_name(named, known.values()))
    if found := choose_definition(image, known.values()):
        return Choice(found)
    if found := known.get(read_default(pod, container)):
        return Choice(found, explain_default(image, pod, found))
    return Choice(None, explain_no_environment(image, known.values()))


def read_used(pod: Mapping[str, Any], environments: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The names of the Environments (objects of the API) that the containers of `pod` run in."""
    known, spec = tuple(map(read_definition, environments)), pod.get("spec") or {}
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    found = (choose(each, pod, known).definition for each in containers)
    return frozenset(each.name for each in found if each is not None)


def choose_definition(image: str, definitions: Iterable[Definition]) -> Definition | None:
    """The Environment with the most specific matching pattern; of equals, the first by name."""
    found = [
        (-_weight(pattern), definition.name, definition)
        for definition in definitions
        for pattern in definition.images
        if match_image(pattern, image)
    ]
    return min(found, key=lambda each: each[:2])[2] if found else None


def complete_image(image: str, tag: str = "latest") -> str:
    """`busybox` -> `docker.io/library/busybox:latest`, without a digest."""
    # No image is pulled, so a digest means nothing here.
    name = image.strip().partition("@")[0]
    head, slash, _ = name.partition("/")
    if not slash:
        if name.strip("*"):
            name = f"docker.io/library/{name}"
    # Docker's rule: a first part with a dot or a colon, or `localhost`, is a registry.
    elif not (set(head) & set("*?.:") or head == "localhost"):
        name = f"docker.io/{name}"
    return name if ":" in name.rpartition("/")[2] else f"{name}:{tag}"


def nearest_definitions(image: str, definitions: Iterable[Definition], limit: int = 3) -> tuple[Definition, ...]:
    """Definitions with a pattern whose last part is similar to the image's, most similar first."""
    by_part: dict[str, dict[str, Definition]] = {}
    for definition in sorted(definitions, key=lambda each: each.name):
        for pattern in definition.images:
            by_part.setdefault(_last_part(pattern), {})[definition.name] = definition
    near = {name: each for part in rank(_last_part(image), by_part) for name, each in by_part[part].items()}
    return tuple(near.values())[:limit]


def explain_no_environment(image: str, definitions: Iterable[Definition]) -> Phrase:
    """The sentence for an image that no pattern matches: what exists, and the two remedies."""
    known = sorted(definitions, key=lambda each: each.name)
    if not known:
        return phrase(
            'image "{image}" stands for no environment on this machine; environments here: none. Add an Environment '
            "whose spec.images match it (kubectl create -f), or name one in the pod's annotation "
            "paddock.dev/environment",
            image=image,
        )
    there = phrase("environments here: {names}", names=", ".join(each.name for each in known))
    if near := nearest_definitions(image, known):
        names = ", ".join(f"{each.name} ({', '.join(each.images)})" for each in near)
        there = phrase("near ones: {names}", names=names)
    return phrase(
        'image "{image}" stands for no environment on this machine; {there}. Add an Environment whose spec.images '
        "match it (kubectl create -f), or name one in the pod's annotation paddock.dev/environment",
        image=image, there=there,
    )  # fmt: skip


def explain_default(image: str, pod: Mapping[str, Any], default: Definition) -> Phrase:
    """The sentence for a container that runs in its default Environment."""
    return phrase(
        "image {image} has no Environment here: its command runs in {environment}, the default of this {kind}, without "
        "the files of the image; `paddock env create NAME -r requirements.txt --image {quoted}` makes another one",
        image=image, environment=default.name, kind=(controller_of(pod) or {}).get("kind") or "Pod",
        quoted=f"'{image}'" if shlex.quote(image) == image else shlex.quote(image),
    )  # fmt: skip


def explain_no_name(wanted: str, definitions: Iterable[Definition]) -> Phrase:
    """The sentence for an annotation that names an Environment which does not exist."""
    names = sorted(each.name for each in definitions)
    if near := nearest(wanted, names):
        return phrase(
            'annotation {name}: no Environment "{wanted}" exists; did you mean {near}?',
            name=ENVIRONMENT_ANNOTATION, wanted=wanted, near=near,
        )  # fmt: skip
    return phrase(
        'annotation {name}: no Environment "{wanted}" exists; there are: {names}',
        name=ENVIRONMENT_ANNOTATION, wanted=wanted, names=", ".join(names) or phrase("none"),
    )  # fmt: skip


def _weight(pattern: str) -> int:
    return len(pattern.replace("*", "").replace("?", ""))


def _last_part(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0].lower()

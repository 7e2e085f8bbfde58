"""What an Environment becomes by its requirements files, as they are now. Pure.

`environments.sources` records the files. The digest covers packages and indexes, with those of the files that `-r`
includes, not comments and the order of lines.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from paddock.environments.defaults import SERVERS_CHECK, SERVERS_ENV, UNBUFFERED
from paddock.environments.failures import redact
from paddock.environments.packages.paddle import (
    PADDLE,
    PADDLE_WITH_SERVERS,
    add_servers,
    find_broken,
    find_paddle,
    is_paddle,
    lacks_servers,
)
from paddock.environments.packages.torch import TORCH, find_torch
from paddock.environments.requirement_files import Requirements
from paddock.environments.requirements import explain_requirement, requirement_name
from paddock.environments.sources import SOURCE, Source, read_source, write_source
from paddock.kube.meta import ENVIRONMENTS, Manifest, annotations_of
from paddock.words.phrases import Names, Phrase, phrase


def build_digest(read: Iterable[Requirements]) -> str:
    """Indexes are hashed with the rest: they may hold a password."""
    content = [
        (sorted(each.packages), each.index_url, each.extra_index_urls, *([each.options] if each.options else ()))
        for each in read
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def build_packages(read: Sequence[Requirements], source: Source) -> tuple[str, ...]:
    """The requirements of the files, of `source.added`, and what PaddlePaddle and its parameter servers need."""
    named = dict.fromkeys(package for each in read for package in each.packages)
    names = {requirement_name(each) for each in named}
    packages = (*named, *(each for each in source.added if requirement_name(each) not in names))
    if source.paddle and not find_paddle(packages):
        # first, as messages name an environment by its first package
        packages = (PADDLE_WITH_SERVERS if source.servers else PADDLE, *packages)
    if source.torch and not find_torch(packages):
        packages = (TORCH, *packages)
    return add_servers(packages) if source.servers else packages


def find_problems(read: Sequence[Requirements], source: Source) -> list[Phrase]:
    """What is wrong in the files, and the lines by which parameter servers could not run."""
    problems = [problem for each in read for problem in each.problems]
    if not source.servers:
        return problems
    for each in read:
        for package, place in zip(each.packages, each.places, strict=True):
            if lacks_servers(package):
                said = phrase(
                    "found {found}; PaddlePaddle's packages after 3.0.0 have no parameter servers: write {package}",
                    found=package, package=PADDLE_WITH_SERVERS,
                )  # fmt: skip
                problems.append(phrase("{option}: {problem}", option=place, problem=said))
    return problems


def find_additions(read: Sequence[Requirements], source: Source, file: str) -> list[Phrase]:
    """What is in the environment and in no file, as sentences, and what is in a file and surely fails."""
    named = {requirement_name(package) for each in read for package in each.packages}
    said = []
    for package in build_packages(read, source):
        if (is_paddle(package) and not find_paddle(named)) or (package == TORCH and not find_torch(named)):
            what = explain_requirement(package)
            said.append(phrase("{package} is added: {file} names none", package=what, file=file))
        elif requirement_name(package) == "paddlepaddle" and package.startswith("paddlepaddle<="):
            said.append(
                phrase("{package} is added: later ones have no parameter servers", package=package),
            )
    for own, companion in find_broken(build_packages(read, source)):
        said.append(
            phrase("warning: PaddlePaddle fails with {package} ({why}): write {other}", package=own, why=companion.why,
                   other=companion.requirement)
        )  # fmt: skip
    return said


def has_changed(environment: Mapping[str, Any], read: Sequence[Requirements]) -> bool:
    """Whether the files say something else than when the Environment was made of them."""
    source = read_source(environment)
    return source is not None and build_digest(read) != source.digest


def build_spec(read: Sequence[Requirements], source: Source, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The Environment's spec by its files as they are now. What they do not decide stays as in `spec`."""
    changed = dict(spec) | {"requirements": list(build_packages(read, source))}
    if not source.own_index:
        urls = [each.index_url for each in read if each.index_url]
        changed["indexURL"] = urls[-1] if urls else ""
        changed["extraIndexURLs"] = [url for each in read for url in each.extra_index_urls]
    changed["pipOptions"] = [option for each in read for option in each.options]
    return {key: value for key, value in changed.items() if value}


def build_environment(name: str, read: Sequence[Requirements], source: Source, now: str) -> Manifest:
    """A new Environment for the jobs that a script stands for. `now`: RFC 3339."""
    made: Manifest = {
        "apiVersion": ENVIRONMENTS.api_version,
        "kind": ENVIRONMENTS.kind,
        "metadata": {"name": name},
        "spec": _build_first_spec(read, source),
    }
    return with_files(made, read, source, now)


def _build_first_spec(read: Sequence[Requirements], source: Source) -> dict[str, Any]:
    packages = build_packages(read, source)
    spec: dict[str, Any] = {"env": [*(SERVERS_ENV if source.servers else ()), UNBUFFERED]}
    if source.servers:
        spec["verify"] = SERVERS_CHECK
    elif find_paddle(packages):
        spec["verify"] = "import paddle"
    elif find_torch(packages):
        spec["verify"] = "import torch"
    return build_spec(read, source, spec)


def with_files(environment: Manifest, read: Sequence[Requirements], source: Source, now: str) -> Manifest:
    """The Environment by its files as they are now. `now`: RFC 3339."""
    recorded = replace(source, digest=build_digest(read), read=now)
    annotations = {**annotations_of(environment), SOURCE: write_source(recorded)}
    return {
        **environment,
        "metadata": {**environment["metadata"], "annotations": annotations},
        "spec": build_spec(read, source, environment.get("spec") or {}),
    }


def is_as_recorded(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether reading the files again changes nothing: neither what is built nor the record of what was read."""
    changes = explain_changes(before.get("spec") or {}, after["spec"])
    return changes is None and _recorded_digest(before) == _recorded_digest(after)


def _recorded_digest(environment: Mapping[str, Any]) -> str:
    found = read_source(environment)
    return found.digest if found else annotations_of(environment).get(SOURCE, "")


def explain_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Names | Phrase | None:
    """`+numpy==2.0 and -pandas`: the packages that differ between two specs; the index where it does. None without."""
    old, new = (spec.get("requirements") or () for spec in (before, after))
    names = [*(f"+{each}" for each in new if each not in old), *(f"-{each}" for each in old if each not in new)]
    if names:
        return Names(tuple(names))
    if any(before.get(key) != after.get(key) for key in ("indexURL", "extraIndexURLs")):
        return phrase("another package index")
    return phrase("other options") if before.get("pipOptions") != after.get("pipOptions") else None


def describe_requirements(sources: Sequence[Source]) -> dict[str, str]:
    """By the name of a file the digest of what was read, by its path where two have the same name; as `--add` the
    packages beside them, without what a URL of theirs may hide."""
    names = Counter(PurePath(source.files[0]).name for source in sources if source.files)
    said = {}
    for source in sources:
        if source.files:
            path = PurePath(source.files[0])
            said[path.name if names[path.name] == 1 else str(path)] = source.digest
    added = sorted({redact(package) for source in sources for package in source.added})
    return {**said, "--add": ", ".join(added)} if added else said

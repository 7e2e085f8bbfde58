"""The problem of training jobs embedded in another object, which does not start them here: their lines, and advice."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from paddock.jobs.apis.registry import KINDS
from paddock.kube.meta import Resource
from paddock.manifests.inside import Inside, is_training
from paddock.manifests.parts import mapping
from paddock.manifests.yaml_nodes import Document
from paddock.preflight.foreign_kinds import explain_foreign
from paddock.words.phrases import NOTHING, Names, Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

_COPY = phrase("copy it into a file of its own, and run that with `paddock run FILE`")
_LIST = phrase("write the lines `apiVersion: v1`, `kind: List` and `items:` above the list")
_ITEMS = phrase("write the lines `apiVersion: v1` and `kind: List` above items")
_KIND = phrase("write the line `kind: List` above items")
_KIND_OF_V1 = phrase("write the line `kind: List` above items, and `apiVersion: v1` for the apiVersion there")

_MOST_NAMED = 3


def check_inside(document: Document, known: Collection[Resource]) -> Problem | None:
    """One problem for all embedded jobs of the document. It is a warning if the document's own kind is known: a
    ConfigMap may contain a manifest for a program that reads it."""
    version, kind = document.manifest.get("apiVersion"), document.manifest.get("kind")
    inside = document.inside
    if not inside or is_training(version, kind):
        return None
    where = _join([phrase("a {kind} lies at line {line}, under {path}", **_facts(each)) for each in inside])
    if not isinstance(kind, str) or not kind:
        said = phrase("{where}: {advice}", where=where, advice=_advise_list(document) or _advise(inside, known))
        return told("", said) if document.manifest else _at(told("", said), document)
    if any((each.api_version, each.kind) == (version, kind) for each in known):
        said = phrase(
            "{where}, which this {kind} does not start: to run it, {advice}",
            where=where, kind=kind, advice=_advise(inside, known),
        )  # fmt: skip
        return told("kind", said, severity="warning")
    said = phrase("{kind} does not run here; {where}: {advice}", where=where, kind=kind, advice=_advise(inside, known))
    return told("kind", said, kind)


def check_owned(manifest: Mapping[str, Any]) -> Iterator[Problem]:
    """Refuses objects that a job owns, as in a dump of a namespace: the job's operator creates its own again."""
    for owner in mapping(manifest.get("metadata")).get("ownerReferences") or ():
        if (
            isinstance(owner, dict)
            and owner.get("controller")
            and is_training(owner.get("apiVersion"), owner.get("kind"))
        ):
            said = phrase(
                "the {owner} {name} made this {kind} and makes its own again: remove this {kind} from the file",
                owner=owner["kind"], name=str(owner.get("name")), kind=str(manifest.get("kind")),
            )  # fmt: skip
            yield told("metadata.ownerReferences", said, about_key=True)
            return


def _at(problem: Problem, document: Document) -> Problem:
    return Problem(problem.path, problem.message, said=problem.said, line=document.line, column=1)


def _facts(each: Inside) -> dict[str, str | int]:
    return {"kind": each.kind, "line": each.line, "path": each.path}


def _advise_list(document: Document) -> Phrase | None:
    """The advice for a list of manifests without `kind: List`; None for another document."""
    if not all(each.path.startswith(("[", "items[")) and each.path.endswith("]") for each in document.inside):
        return None
    if not document.manifest:
        return _LIST
    if "apiVersion" not in document.manifest:
        return _ITEMS
    return _KIND if document.manifest["apiVersion"] == "v1" else _KIND_OF_V1


def _advise(inside: Sequence[Inside], known: Collection[Resource]) -> Phrase:
    served = {(each.api_version, each.kind) for each in known if each in KINDS}
    can_run = [each for each in inside if (each.api_version, each.kind) in served]
    advice = [] if not can_run else [_COPY] if len(inside) == 1 else [_copy_each(can_run)]
    others = dict.fromkeys((each.api_version, each.kind) for each in inside if each not in can_run)
    advice += [foreign for each in others if (foreign := explain_foreign(*each, known))]
    return _join(advice or [_COPY])


def _copy_each(can_run: Sequence[Inside]) -> Phrase:
    kinds = Names(tuple(dict.fromkeys(each.kind for each in can_run)))
    return phrase("copy each {kinds} into a file of its own, and run that with `paddock run FILE`", kinds=kinds)


def _join(parts: Sequence[Phrase]) -> Phrase:
    """The first parts by name, the others counted: a text may embed hundreds of jobs."""
    joined = parts[0] if parts else NOTHING
    for part in parts[1:_MOST_NAMED]:
        joined = phrase("{first}; {second}", first=joined, second=part)
    more = len(parts) - _MOST_NAMED
    return phrase("{names} and {count} more", names=joined, count=more) if more > 0 else joined

"""The sentences of jobs that wait for their Datasets."""

from __future__ import annotations

from paddock.jobs.sentences.cause_args import Args, items_of, message_of, names_of, text_of, value_of, with_message
from paddock.kube.datasets import format_size
from paddock.words.phrases import Phrase, counted, phrase


def explain_waiting_for_dataset(args: Args) -> Phrase:
    """`waiting for dataset imagenet: 41 %, 3.2 of 7.8 GB`, with what of it is known."""
    said = _explain_progress(args)
    more = args.get("more")
    if not isinstance(more, int) or more < 1:
        return said
    return counted("{said}, and for {count} more dataset", "{said}, and for {count} more datasets", said=said,
                   count=more)  # fmt: skip


def _explain_progress(args: Args) -> Phrase:
    name, percent, done, total = (
        value_of(args, "dataset"),
        _number(args, "percent"),
        _number(args, "done"),
        _number(args, "total"),
    )
    if total or (done and percent):
        size = _explain_part(min(done, total or done), total)
        return phrase("waiting for dataset {name}: {percent} %, {size}", name=name, percent=percent, size=size)
    if done:
        return phrase("waiting for dataset {name}: {size} so far", name=name, size=format_size(done))
    if percent:
        return phrase("waiting for dataset {name}: {percent} %", name=name, percent=percent)
    return with_message(args, phrase("waiting for dataset {name}", name=name))


def explain_dataset_missing(args: Args) -> Phrase:
    name, namespace, near = value_of(args, "dataset"), value_of(args, "namespace"), text_of(args, "nearest")
    if args.get("deleting"):
        return phrase(
            "waiting for dataset {name}, which is being deleted; create it again, and the job goes on by itself",
            name=name,
        )
    said = phrase("waiting for dataset {name}, which namespace {namespace} lacks", name=name, namespace=namespace)
    if near:
        said = phrase("{said}; the nearest name that it has is {near}", said=said, near=near)
    elif items_of(args, "known"):
        said = phrase("{said}; it has {known}", said=said, known=names_of(args, "known"))
    return phrase("{said}; create it, and the job goes on by itself", said=said)


def explain_dataset_failed(args: Args) -> Phrase:
    name = value_of(args, "dataset")
    said = with_message(args, phrase("waiting: dataset {name} failed", name=name))
    if args.get("retries"):
        return phrase("{said}; it is tried again by itself", said=said)
    return phrase("{said}; it is not tried again until somebody changes it", said=said)


def explain_datasets_unserved(args: Args) -> Phrase:
    name = value_of(args, "dataset")
    if message_of(args):
        return with_message(args, phrase("waiting for dataset {name}: the operator cannot read Datasets", name=name))
    return phrase(
        "waiting for dataset {name}: this cluster has no Datasets; `paddock manifests --datasets --image IMAGE` prints "
        "what an administrator installs",
        name=name,
    )


def _explain_part(done: int, total: int) -> Phrase | str:
    """`3.2 of 7.8 GB`, as `paddock.kube.datasets.format_part`, in every language."""
    if not total:
        return format_size(done)
    part, whole = format_size(done), format_size(total)
    number, _, unit = part.partition(" ")
    return phrase("{part} of {whole}", part=number if whole.endswith(f" {unit}") else part, whole=whole)


def _number(args: Args, name: str) -> int:
    found = args.get(name)
    return found if isinstance(found, int) and found > 0 else 0

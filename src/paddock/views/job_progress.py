"""How far a job is, in words: the same in tables, on pages and in the description of a job. Pure."""

from __future__ import annotations

from paddock.jobs.model import JobProgress
from paddock.kube.times import format_duration
from paddock.words.phrases import Phrase, phrase

_IN_A_ROW = 3
"""Metrics; the description of a job has all."""


def tell_progress(progress: JobProgress | None) -> Phrase | None:
    """`42 %, 12m left`; None where neither is known."""
    if progress is None or (progress.percent is None and progress.remaining is None):
        return None
    if progress.remaining is None:
        return phrase("{percent} %", percent=progress.percent or 0)
    time = format_duration(progress.remaining)
    if progress.percent is None:
        return phrase("{time} left", time=time)
    return phrase("{percent} %, {time} left", percent=progress.percent, time=time)


def tell_metrics(progress: JobProgress | None, most: int | None = None) -> str:
    """`loss 0.5213, lr 0.001`, at most so many, None for all; empty without any. In every language it is the same."""
    return ", ".join(f"{name} {value}" for name, value in list_metrics(progress)[:most])


def list_metrics(progress: JobProgress | None) -> list[tuple[str, str]]:
    """(`loss`, `0.5213`), in their order."""
    return [(name, f"{value:.4g}") for name, value in progress.metrics.items()] if progress is not None else []


def tell_briefly(progress: JobProgress | None) -> Phrase | str:
    """`42 %, 12m left`; the first metric where the length of the training is not known."""
    return tell_progress(progress) or tell_metrics(progress, 1)


def tell_wide(progress: JobProgress | None) -> Phrase | str:
    """`42 %, 12m left, loss 0.5213`: with the first metrics; empty where nothing is known."""
    far, metrics = tell_progress(progress), tell_metrics(progress, _IN_A_ROW)
    if far is None or not metrics:
        return far or metrics
    return phrase("{far}, {metrics}", far=far, metrics=metrics)

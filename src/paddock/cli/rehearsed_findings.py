"""What doctor's findings mean of a rehearsal, which has no device whatever the manifest asks for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from paddock.doctor.examine import LAST_RESORT, NOT_TOGETHER
from paddock.doctor.findings import Finding, Severity
from paddock.submission.rehearsal_report import Outcome
from paddock.words.phrases import Phrase, phrase, render

NOT_MET = NOT_TOGETHER | {"waits-for-peers", "waits-for-address", "store-is-not-reached", "master-is-not-reached",
                           "nobody-serves-the-master"}  # fmt: skip
"""Checks of doctor whose finding says that ranks have not met."""
NO_GPU = frozenset({"cpu-wheel-asked-for-gpu", "cpu-wheel-with-devices", "cpu-wheel-with-visible-devices",
                     "gpu-wheel-without-gpu", "driver-too-old"})  # fmt: skip
"""Checks whose advice is a GPU or another wheel: none of a rehearsal, and its own pods ask for no GPU at all."""
_NO_DEVICE = re.compile(
    r"no (?:cuda )?gpus?\b|cuda (?:is not|isn't|was not) available|cuda\.is_available\(\) is False|no cuda-capable|"
    r"not compiled with cuda|requires cuda support|\b(?:requires?|needs?) an? (?:nvidia |cuda )?gpu|a gpu is needed|"
    r"no nvidia driver|libcuda\.so|support bf16/gpu|(?:have|with) nccl built in|nccl is only supported with gpus|"
    r"installed CPU version PaddlePaddle|'torch\._C' has no attribute '_cuda_",
    re.IGNORECASE,
)
"""How PaddlePaddle, PyTorch and programs say that a device is not there."""


def find_apart(findings: Sequence[Finding]) -> Phrase | None:
    """Why the ranks have not found each other; None where doctor does not know that."""
    return next(
        (phrase("its ranks do not meet: {why}", why=each.what) for each in findings if each.check in NOT_MET), None
    )


def asks_for_device(findings: Iterable[Finding]) -> bool:
    """Whether a rank wanted a device: a launcher or a framework has said so, or the error that ended it. A finding that
    is a risk alone compares the wheel with what the pods ask for."""
    return any(
        each.check in NO_GPU or (each.check == LAST_RESORT and _NO_DEVICE.search(render(each.what)))
        for each in findings
        if each.severity is Severity.WRONG
    )


def choose_findings(findings: Iterable[Finding], outcome: Outcome) -> tuple[Finding, ...]:
    """Those that are told: no advice to get a GPU, and no fault of the program where the report knows what the
    rehearsal lacks."""
    knows = outcome.lacks is not None or outcome.wants_device
    return tuple(each for each in findings if each.check not in NO_GPU and not (knows and each.check == LAST_RESORT))

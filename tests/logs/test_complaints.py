"""Lines that programs really print, and lines that only look like trouble."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.logs.complaints import find_complaint, read_complaint
from paddock.logs.endings import read_ending

THE_DOCUMENTS_DDP_ON_A_CPU = "Error initializing process group: Distributed package doesn't have NCCL built in"


@pytest.mark.parametrize(
    ("line", "kind", "fatal"),
    [
        # Row one: the documents' DDP program prints this, returns, and ends with 0.
        (THE_DOCUMENTS_DDP_ON_A_CPU, "process group", True),
        ("Error setting device: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED", "caught", True),
        ("Error during training epoch 3: mat1 and mat2 shapes cannot be multiplied", "caught", True),
        ("ModuleNotFoundError: No module named 'pandas'", "traceback", False),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/data/train.csv'", "traceback", False),
        ("KeyboardInterrupt", "traceback", False),
        ("torch.distributed.DistNetworkError: The server socket has failed to listen", "process group", True),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "device", True),
        ("CUDA error: no kernel image is available for execution on the device", "device", True),
        ("(External) CUDA error(2), out of memory. ", "device", True),
        ("ValueError: (InvalidArgument) ShapeError: The last dimensions of 'Ids' must be 1.", "enforce", True),
        ("RuntimeError: (PreconditionNotMet) Tensor holds no memory.", "enforce", True),
        ("FatalError: `Segmentation fault` is detected by the operating system.", "crash", True),
        ("terminate called after throwing an instance of 'std::bad_alloc'", "memory", True),
        ("MemoryError", "memory", True),
    ],
)  # fmt: skip
def test_a_complaint_is_found(line: str, kind: str, fatal: bool) -> None:
    found = read_complaint(line)
    assert found is not None
    assert (found.kind, found.text, found.is_fatal) == (kind, line.strip(), fatal)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "epoch 1  step 100/400  loss 0.5213",
        "Worker 0: Epoch 1, Batch 100, Loss 0.5",
        "UserWarning: No ccache found. Please be aware that recompiling all source files may be required.",
        "WARNING: Error: this is only said",
        '  File "train.py", line 3, in <module>',
        "    raise ValueError: not at the margin",
        "2026-11-20 09:00:00 ERROR data.loader ValueError: retrying",
        "no errors were found; mean absolute error: 0.12",
        "[HAMI-core Warn(1:140244541377408:utils.c:183)]: get default cuda from (null)",
        "Error rate: 0.12",
        "FatalError: `Termination signal` is detected by the operating system.",
    ],
)
def test_what_only_looks_like_one_is_none(line: str) -> None:
    assert read_complaint(line) is None


def test_the_reason_is_said_before_its_echoes() -> None:
    echo = "RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.3]:4711"
    reason = "ZeroDivisionError: division by zero"
    assert find_complaint(["training", echo, reason]).text == reason  # type: ignore[union-attr]
    assert find_complaint(["training", echo]).text == echo  # type: ignore[union-attr]
    assert find_complaint(["training"]) is None


HEADER, FRAME = "Traceback (most recent call last):", '  File "train.py", line 3, in <module>'
FROM = "The above exception was the direct cause of the following exception:"
DURING = "During handling of the above exception, another exception occurred:"


@pytest.mark.parametrize(
    ("joint", "said"),
    [
        (FROM, "KeyError: 'outer' (from ValueError: bad)"),
        (DURING, "ValueError: bad"),
        ("epoch 2", "ValueError: bad"),
    ],
)
def test_of_an_exception_that_was_raised_from_another_it_is_the_outer_one(joint: str, said: str) -> None:
    """The same as `read_ending` says of a log, but for one error that was caught."""
    lines = [HEADER, FRAME, "ValueError: bad", "", joint, "", HEADER, FRAME, "KeyError: 'outer'", "", FRAME]
    assert find_complaint(lines).text == said  # type: ignore[union-attr]
    if joint != "epoch 2":
        assert read_ending("\n".join(lines[:-2])).error == said


@given(st.text(max_size=3_000))
def test_any_line_is_read_and_none_is_long(line: str) -> None:
    found = read_complaint(line)
    assert found is None or len(found.text) <= 300

"""Paddock: training jobs for PaddlePaddle, from one laptop to a Kubernetes fleet, from one YAML file.

    import paddock

    result = paddock.run("train.py", workers=2, args=["--lr", "0.1"])
    result = paddock.train(my_function, kwargs={"lr": 0.1})

The calls are `paddock.sdk`; they are imported at first use (PEP 562), as the command line imports this package too.
"""

from __future__ import annotations

from importlib import import_module

from paddock.version import __version__

TYPE_CHECKING = False  # `typing` would be half of the time of `import paddock`; type checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from paddock.sdk.calls import run, train
    from paddock.sdk.errors import JobFailed, PaddockError
    from paddock.sdk.result import Progress, Result

__all__ = ["JobFailed", "PaddockError", "Progress", "Result", "__version__", "run", "train"]

_ROOMS = {
    "run": "calls",
    "train": "calls",
    "JobFailed": "errors",
    "PaddockError": "errors",
    "Progress": "result",
    "Result": "result",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"paddock.sdk.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})

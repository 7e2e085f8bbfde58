"""Makes torch.distributed use gloo in place of nccl on a machine without a GPU. Written by Paddock.

It runs inside of a job's environment, in each of its Pythons, if PADDOCK_SUBSTITUTE is 1; the annotation
paddock.dev/substitute: "false" on the job turns it off. It changes `init_process_group` and `new_group` when the
program imports torch.distributed, for the backend nccl alone, and nothing where torch finds a GPU. It imports nothing
of torch or of Paddock, and needs Python 3.9.

A process that ends right after its last exchange by gloo may abort (torch 2.13, "terminate called without an active
exception", exit code 134): a thread of gloo gives back tensors of Python while the interpreter ends. So the end of a
process that had a group of gloo waits a moment for these threads.
"""

from __future__ import annotations

import sys

# Each Python of a job reads this module at its start: what it imports is imported when torch is.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any

SWITCH = "PADDOCK_SUBSTITUTE"
TARGET = "torch.distributed.distributed_c10d"
"""Where both functions are defined: torch.distributed and torch's own modules import them from there."""
MESSAGE = (
    "paddock: no GPU here, so torch.distributed uses gloo in place of nccl (the job's annotation "
    'paddock.dev/substitute: "false" turns this off)'
)
_INIT, _GROUP = "init_process_group", "new_group"
MOMENT = 0.1
"""Seconds that gloo's threads have at the end of a process. They need microseconds, and a turn on a busy machine."""

_settled = False
_waits = False


def choose_backend(wanted: object, has_nccl: bool = False) -> str:
    """The backend in place of `wanted`; empty to leave it. `has_nccl`: torch would take nccl by itself for None."""
    if wanted is None:
        return "gloo" if has_nccl else ""
    # `nccl`, or one for each device: `cpu:gloo,cuda:nccl`
    named = [part.rpartition(":")[2].strip() for part in str(wanted).lower().split(",")]
    return "gloo" if "nccl" in named else ""


def install() -> None:
    """Watches for the import of torch.distributed."""
    if TARGET not in sys.modules:
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds torch.distributed's module as Python does, and changes it once it is loaded."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != TARGET:
            return None
        import importlib.machinery

        # It stays: who only looks for the module loads nothing, and asks again before the import.
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = _changing(spec.loader.exec_module)  # type: ignore[assignment,method-assign]
        return spec


def _changing(load: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    def exec_module(module: ModuleType) -> None:
        load(module)
        try:
            change(module)
        except Exception as error:  # a torch of another kind is the program's, and stays as it is
            sys.stderr.write(f"paddock: torch.distributed keeps nccl: {error!r}\n")

    return exec_module


def change(module: ModuleType) -> None:
    """Changes both functions of `module`, torch's own or one alike."""
    for name in (_INIT, _GROUP):
        function = getattr(module, name, None)
        if function is not None:
            setattr(module, name, _substituting(function, module))


def _substituting(function: Callable[..., Any], module: ModuleType) -> Callable[..., Any]:
    import functools
    import inspect

    signature, is_init = inspect.signature(function), function.__name__ == _INIT

    @functools.wraps(function)
    def substituted(*args: Any, **kwargs: Any) -> Any:
        try:
            called = signature.bind(*args, **kwargs)
        except TypeError:  # the function itself says what is wrong
            return function(*args, **kwargs)
        # A new group without a backend has that of the first.
        by_itself = is_init and _has_nccl(module)
        chosen = choose_backend(called.arguments.get("backend"), by_itself)
        if _has_gpu():
            return function(*args, **kwargs)
        _wait_at_the_end()
        if not chosen:
            return function(*args, **kwargs)
        called.arguments["backend"] = chosen
        # Both are of nccl alone: its options, and the GPU that it binds to.
        called.arguments.pop("pg_options", None)
        if not str(called.arguments.get("device_id")).startswith("cpu"):
            called.arguments.pop("device_id", None)
        _say(_find_rank(called.arguments if is_init else {}, module))
        return function(*called.args, **called.kwargs)

    return substituted


def _wait_at_the_end() -> None:
    """After what the program itself does at its end, as that was registered later."""
    global _waits
    if not _waits:
        import atexit
        import time

        atexit.register(time.sleep, MOMENT)  # it lets go of the interpreter's lock
    _waits = True


def _has_nccl(module: Any) -> bool:
    available = getattr(module, "is_nccl_available", None)
    return available is not None and bool(available())


def _has_gpu() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_available())


def choose_rank(argument: object, grouped: object, variable: str) -> str:
    """The rank of this process, as torch will take it; empty where that is not known yet. `argument`: of
    `init_process_group`; `grouped`: of a group that is there; `variable`: RANK."""
    return next((str(each) for each in (argument, grouped) if isinstance(each, int) and each >= 0), variable)


def _find_rank(arguments: Mapping[str, Any], module: Any) -> str:
    import os

    try:
        grouped = module.get_rank()
    except Exception:  # there is no group yet
        grouped = None
    return choose_rank(arguments.get("rank"), grouped, os.environ.get("RANK", ""))


def _say(rank: str) -> None:
    """Once for the job: the first rank says it for all. Ranks that do not know which they are say it each."""
    global _settled
    if not _settled and rank in ("", "0"):
        sys.stderr.write(f"{MESSAGE}\n")
        sys.stderr.flush()
    _settled = True

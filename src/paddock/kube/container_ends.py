"""The messages of a container that its node has ended: for what it took, or because of a probe or a hook. How the node
of a laptop writes them, and who explains the job reads them. Pure.

A real kubelet says it in events alone, and the status of such a container is that of any program which a signal has
ended. On a laptop the message of its end says why, so that nobody takes the exit code 143 for the program's own. They
are stored in English, as all messages are.
"""

from __future__ import annotations

import re

from paddock.kube.quantities import format_bytes

ABOVE_LIMIT = "MemoryAboveLimit"
"""The reason of the event of a pod that goes on above its limit, as nothing bounds it there."""
ENDED = "ended by the kubelet, as its "
"""How the message of a container begins that a probe or a hook has ended; the reason follows."""
_MEMORY = re.compile(r"used (\S+ (?:B|[KMG]iB)) of its limit of (\S+ (?:B|[KMG]iB))")
_PROCESSES = re.compile(r"had (\d{1,9}) processes, and a container may have (\d{1,9})")


def write_memory_end(used: float, limit: float) -> str:
    """`used 64 MiB of its limit of 64 MiB`. Bytes."""
    return f"used {format_bytes(used)} of its limit of {format_bytes(limit)}"


def read_memory_end(message: str) -> tuple[str, str] | None:
    """What was used, and the limit; None of another message."""
    match = _MEMORY.fullmatch(message.strip())
    return (match[1], match[2]) if match else None


def write_processes_end(count: int, most: int) -> str:
    return f"had {count} processes, and a container may have {most}"


def read_processes_end(message: str) -> tuple[int, int] | None:
    """How many there were, and how many are allowed; None of another message."""
    match = _PROCESSES.fullmatch(message.strip())
    return (int(match[1]), int(match[2])) if match else None


def read_why(message: str) -> str:
    """`livenessProbe failed 3 times in a row: …`; empty of any other message."""
    return message.removeprefix(ENDED) if message.startswith(ENDED) else ""

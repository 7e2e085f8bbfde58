"""Texts for a POSIX shell and bash: words, marks of machines, assignments, comments. Pure.

Every text of a manifest is quoted, so that no part of it is ever a command of the shell. A mark becomes an expansion:
`"${addresses[1]}"`. shellcheck reads each script that is made (tests/places).
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Callable, Iterable, Sequence

from paddock.places.hosts import OWN_INDEX, split_marks

STRAY = (
    "PADDLE_TRAINER_ENDPOINTS", "PADDLE_CURRENT_ENDPOINT", "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM",
    "PADDLE_TRAINERS", "PADDLE_PORT", "PADDLE_IPS", "PADDLE_MASTER", "PADDLE_NNODES", "PADDLE_RANK", "PADDLE_JOB_ID",
    "PADDLE_ELASTIC_SERVER", "PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_HETER_ENDPOINTS", "PADDLE_TRAINING_ROLE",
    "PADDLE_PSERVER_ID", "PADDLE_ROLE", "PADDLE_COORDINATOR_ENDPOINTS", "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST",
    "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST", "PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST",
    "PADDLE_STAGE_TRAINERS_NUM", "STAGE_ID", "STAGE_NUM", "HETER_DEVICE_TYPE",
    "PADDLE_SERVER_NUM", "PADDLE_TRAINER_NUM", "PADDLE_GLOO_HTTP_ENDPOINT", "PADDLE_GLOO_RENDEZVOUS",
    "PADDLE_GLOO_FS_PATH", "PADDLE_WITH_GLOO", "PADDLE_LOG_DIR", "TRAINING_ROLE", "TRAINER_PORTS_NUM", "POD_IP",
    "POD_NAME", "FLAGS_selected_gpus", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK",
    "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "NODE_RANK", "ROLE_RANK", "ROLE_WORLD_SIZE",
    "TORCHELASTIC_RUN_ID", "PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT",
    "PET_RDZV_ENDPOINT", "PET_RDZV_BACKEND", "PET_RDZV_ID", "PET_RDZV_CONF", "PET_MAX_RESTARTS", "PET_STANDALONE",
    "PET_LOCAL_ADDR", "COORDINATOR_ADDRESS", "COORDINATOR_PORT", "NUM_PROCESSES", "PROCESS_ID",
)  # fmt: skip
"""Variables by which launchers and frameworks find their peers: left in a shell, they change a run without a word."""

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WIDTH = 118


def expand_address(index: int) -> str:
    """The address of a machine, from the array that `start` of a script fills."""
    return f"${{addresses[{index}]}}"


def quote(text: str, address: Callable[[int], str] = expand_address) -> str:
    """One word of a shell: `'two words'`, `"${addresses[0]}":36000`. A line break stays in its quotes."""
    parts: list[str] = []
    for part in split_marks(text):
        if isinstance(part, int):
            parts.append(f'"{address(part)}"')
        else:
            inner = part.split(OWN_INDEX)
            parts.append('"${index}"'.join(shlex.quote(each) if each else "" for each in inner))
    return "".join(parts) or "''"


def join(words: Iterable[str], address: Callable[[int], str] = expand_address) -> str:
    """A command line."""
    return " ".join(quote(word, address) for word in words)


def fold(words: Sequence[str], indent: str = "    ") -> str:
    """Quoted words as lines that `\\` continues, each within the width of a page where its words allow."""
    lines, line = [], ""
    for word in words:
        if line and len(indent) + len(line) + 1 + len(word) > _WIDTH - 2:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip() if line else word
    return f" \\\n{indent}".join([*lines, line] if line else lines)


def is_name(name: str) -> bool:
    """Whether a shell can have a variable of this name. Kubernetes allows `.` and `-` too; `env` takes these."""
    return bool(_PLAIN_NAME.fullmatch(name))


def comment(text: str) -> str:
    """Lines of comments, also of a text with line breaks, none of which leaves the comment."""
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, _WIDTH - 2) or [""]]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)

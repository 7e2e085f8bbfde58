"""A case: what was asked for, the logs and what else is known; and what the checks have in common. Pure."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from paddock.doctor.asked import Asked, Machine, RankSeen
from paddock.doctor.findings import Where
from paddock.doctor.launch_block import LaunchLog
from paddock.doctor.signs import Sign
from paddock.jobs.model import CauseRecord
from paddock.logs.stacks import Folded
from paddock.words.phrases import phrase


@dataclass(frozen=True, slots=True)
class Case:
    """What the checks look at."""

    asked: Asked
    logs: Mapping[str, LaunchLog]
    """By rank (`worker-0`) of a job, by host of a log; one without a name has the key empty."""
    ranks: Mapping[str, RankSeen] = field(default_factory=dict)
    machine: Machine = field(default_factory=Machine)
    cause: CauseRecord | None = None
    """Why the job waits or has ended, as it is recorded."""
    has_failed: bool = False
    """The job has failed, as it is recorded."""
    stacks: Folded = field(default_factory=Folded)
    """Where its ranks are, as far as somebody has looked."""

    def find(self, sign: str) -> list[tuple[str, LaunchLog, Sign]]:
        """The logs that have the sign."""
        return [(name, log, found) for name, log in self.logs.items() if (found := log.sign(sign))]

    @property
    def first(self) -> LaunchLog | None:
        """The first log with a launcher's block."""
        return next((log for log in self.logs.values() if log.block_line), None)

    @property
    def nodes(self) -> int:
        """How many nodes were asked for, as far as anybody says: the most of a range; 1 where nobody does."""
        asked = self.asked.nodes
        said = [read_nodes(log.argument("nnodes"))[1] for log in self.logs.values() if log.argument("nnodes")]
        return asked if asked is not None else max((*said, len([name for name in self.logs if name]), 1))


def read_nodes(text: str) -> tuple[int, int]:
    """`2` -> (2, 2); `2:3` -> (2, 3); what is no number counts as 1."""
    least, _, most = text.partition(":")
    low = int(least) if least.isdecimal() else 1
    return low, int(most) if most.isdecimal() else low


def place(name: str, line: int = 0) -> Where:
    """`worker-0, line 12`; `line 12` of a log with one source."""
    if not line:
        return name or "log"
    return phrase("{name}, line {line}", name=name, line=line) if name else phrase("line {line}", line=line)


def place_all(found: Iterable[tuple[str, LaunchLog, Sign]]) -> Where:
    """The first places, and how many others there are."""
    places = [place(name, sign.line) for name, _, sign in found]
    return join_places([*places[:4], *([f"+{len(places) - 4}"] if len(places) > 4 else [])])


def join_places(places: Sequence[Where]) -> Where:
    """`worker-0, line 12; worker-1`; at least one."""
    return reduce(lambda first, second: phrase("{first}; {second}", first=first, second=second), places)


def list_places(places: Sequence[Where]) -> Where:
    """`worker-0, line 12, worker-1, line 9`; at least one."""
    return reduce(lambda first, second: phrase("{first}, {second}", first=first, second=second), places)


_DEFAULTS = {
    "auto_cluster_config": "0", "elastic_level": "-1", "elastic_timeout": "30", "enable_gpu_log": "True",
    "gloo_port": "6767", "job_id": "default", "legacy": "False", "log_dir": "log", "log_level": "INFO",
    "log_overwrite": "False", "max_restart": "3", "nnodes": "1", "rank": "-1", "run_mode": "collective",
    "sort_ip": "False", "start_port": "6070", "with_gloo": "1",
}  # fmt: skip
_NO_OPTIONS = frozenset({"training_script", "training_script_args"})


def build_command(log: LaunchLog | None, changes: Mapping[str, str], variables: Mapping[str, str] | None = None) -> str:
    """The launcher's command as the block has it, with other values. `changes`: an empty value leaves the option out.
    `variables`: set before it."""
    values = dict(log.arguments) if log else {}
    options = {
        name: value
        for name, value in values.items()
        if name not in _NO_OPTIONS and value not in ("", "None") and _DEFAULTS.get(name) != value
    }
    options = {name: value for name, value in {**options, **changes}.items() if value}
    words = ["python", "-m", "paddle.distributed.launch"]
    for name in sorted(options, key=lambda each: (each not in ("master", "nnodes", "rank"), each)):
        words += [f"--{name}", options[name]]
    words += [values.get("training_script") or "train.py", *_read_list(values.get("training_script_args", ""))]
    before = [f"{name}={shlex.quote(value)}" for name, value in (variables or {}).items()]
    return " ".join([*before, shlex.join(words)])


def _read_list(text: str) -> list[str]:
    try:
        found = ast.literal_eval(text or "[]")
    except (ValueError, SyntaxError):
        return []
    return [str(each) for each in found] if isinstance(found, list) else []

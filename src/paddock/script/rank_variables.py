"""Variables by which a rank is told its place: those of Paddock, of launchers and of other tools. Pure.

Their values are true for no rank of another job, so none is taken over: from the shell in which a command is typed, or
from a script of another tool.
"""

from __future__ import annotations

import re

from paddock.script.libraries import READS, SET_FOR_SEVERAL

_NAMES = SET_FOR_SEVERAL.union(*(each.names for each in READS.values()))
_FAMILIES = re.compile(
    r"PADDLE_\w+|FLAGS_selected_\w+|TRAINING_ROLE|POD_IP|PET_\w+|TORCHELASTIC_\w+|NNODES"
    r"|COORDINATOR_(ADDRESS|PORT)|NUM_PROCESSES|PROCESS_ID"
)
_OF_TOOLS = re.compile(r"(SLURM|SBATCH|PBS|LSB|LS|OMPI|PMI|PMIX|MPI|SKYPILOT|DSTACK|SGE|JSM)_\w+|NSLOTS|NHOSTS")


def tells_place(name: str) -> bool:
    """Whether Paddock, or a launcher, sets the variable for each rank."""
    return name in _NAMES or _FAMILIES.fullmatch(name) is not None


def is_of_tool(name: str) -> bool:
    """Whether Slurm, MPI or another tool sets it for its own jobs."""
    return _OF_TOOLS.fullmatch(name) is not None

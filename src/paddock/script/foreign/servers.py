"""Parameter servers and workers of PaddlePaddle that a script starts by hand, each by its variables. Pure.

Such a script sets TRAINING_ROLE for each group and starts the same program in two loops. How often a loop runs is not
read; its programs read the number of both groups in variables (`fleet/base/role_maker.py` of PaddlePaddle 3.0,
`_ps_env`), which the script has to set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paddock.launches.launch import Launch
from paddock.script.foreign.carried import count_hosts, read_number
from paddock.script.foreign.job import Foreign, Left
from paddock.words.phrases import phrase

_ROLES = ("TRAINING_ROLE", "PADDLE_TRAINING_ROLE")
_SERVERS = ("PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_PSERVERS", "PADDLE_PSERVER_NUMS")
_WORKERS = ("PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ENDPOINTS", "PADDLE_TRAINERS")


@dataclass(frozen=True, slots=True)
class Groups:
    """The programs that are started for each role."""

    servers: tuple[Launch, ...]
    workers: tuple[Launch, ...]
    """Empty where the script is told its role from outside."""
    chosen: Launch
    """The one that is the job: a worker, where the script says which are."""


def find_groups(programs: Sequence[Launch]) -> Groups | None:
    """None where no program is started as a server, or as one of those that are told of servers."""
    told = [each for each in programs if _find_role(each) or any(name in each.environment for name in _SERVERS)]
    if not told:
        return None
    # other programs have the exported variables too: the one that trains is that of the servers, else the last
    last = [each for each in told if _find_role(each) == "PSERVER"][-1:] or told[-1:]
    same = [each for each in told if each.program.word.typed == last[0].program.word.typed]
    servers = tuple(each for each in same if _find_role(each) == "PSERVER")
    workers = tuple(each for each in same if _find_role(each) == "TRAINER")
    if not servers and not any(name in each.environment for each in same for name in _SERVERS):
        return None
    return Groups(servers, workers, workers[-1] if workers else same[-1])


def count_groups(made: Foreign, groups: Groups) -> Foreign:
    """The job of one of the workers, with the numbers of both groups."""
    all_of_them = (*groups.servers, *groups.workers, groups.chosen)
    servers = made.servers or _count(all_of_them, _SERVERS) or _count_commands(groups.servers)
    workers = made.workers or _count(all_of_them, _WORKERS) or _count_commands(groups.workers)
    left = made.left
    if not servers:
        said = phrase("the script starts parameter servers, and their number is not known here: --ps N says it")
        left = (*left, Left(made.line, said))
    if not workers:
        said = phrase("the number of the workers is not known here: --workers N says it")
        left = (*left, Left(made.line, said))
    return replace(made, servers=servers, workers=workers, framework=made.framework or "paddle", left=left)


def _find_role(launch: Launch) -> str:
    words = [launch.environment[name] for name in _ROLES if name in launch.environment]
    return (words[0].usual or "") if words else ""


def _count(launches: Sequence[Launch], names: Sequence[str]) -> int:
    """What the variables of the programs say: a number, or a list of addresses; 0 where that is not known."""
    found = [each.environment[name].usual or "" for each in launches for name in names if name in each.environment]
    return max((read_number(text) or (0 if text.isdecimal() else count_hosts(text)) for text in found), default=0)


def _count_commands(launches: Sequence[Launch]) -> int:
    return 0 if any(each.command.may_run for each in launches) else len(launches)

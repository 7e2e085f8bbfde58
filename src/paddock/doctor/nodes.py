"""Why are there other nodes than were asked for?

PaddlePaddle's launcher waits for as many nodes as `--nnodes` says, for ever; with 1 it waits for nobody and trains
alone, with exit code 0. `run_check` makes two of one node (PaddlePaddle 3.3.1).
"""

from __future__ import annotations

from collections.abc import Iterator

from paddock.doctor.asked import RoleAsked
from paddock.doctor.case import Case, build_command, join_places, place, read_nodes
from paddock.doctor.findings import Finding, Severity
from paddock.doctor.launch_block import PADDLE, LaunchLog
from paddock.launches.launchers import Means
from paddock.words.phrases import Names, Phrase, counted, phrase

_MEET = ("master", "job_id", "nnodes")


def check_nodes(case: Case) -> Iterator[Finding]:
    yield from _check_run_check(case)
    yield from _check_option(case)
    yield from _check_count(case)
    yield from _check_torchrun(case)
    yield from _check_alone(case)
    yield from _check_disagreement(case)
    yield from _check_same_rank(case)


def _blocks(case: Case) -> list[tuple[str, LaunchLog]]:
    return [
        (name, log) for name, log in case.logs.items()
        if log.launcher == PADDLE and log.job is not None and log.job.mode == "collective"
    ]  # fmt: skip


def _is_run_check(log: LaunchLog) -> bool:
    """The launcher replaces the word by a script of its own."""
    return log.argument("training_script").endswith(("run_check", "launch/plugins/test.py"))


def _check_run_check(case: Case) -> Iterator[Finding]:
    found = [each for each in _blocks(case) if _is_run_check(each[1])]
    if not found or not found[0][1].waits_since or len(found) > 1 or case.asked.nodes not in (None, 1):
        return
    name, log = found[0]
    yield Finding(
        "run-check-needs-two-nodes",
        Severity.WRONG,
        place(name, log.waits_since),
        phrase("`launch run_check` waits for a second node, and there is one"),
        phrase("the launcher's built-in check takes at least 2 nodes, whatever --nnodes says, and waits for ever"),
        phrase("check one machine with PaddlePaddle's own function"),
        'python -c "import paddle; paddle.utils.run_check()"',
    )


def _find_nodes(role: RoleAsked, family: str) -> str:
    """The number of nodes in the command; empty where it says none, or where that is not known."""
    launch = role.launch if role.trains else None
    is_of = launch is not None and launch.launcher is not None and launch.launcher.family == family
    return (launch.text(Means.NODES) or "") if launch is not None and is_of else ""


def _check_option(case: Case) -> Iterator[Finding]:
    """Compares --nnodes of a job's command with its pods. Where Paddock tells a rank the addresses of all, the launcher
    counts these, and the option is not in effect."""
    wanted = case.asked.nodes
    for role in case.asked.roles:
        said = _find_nodes(role, "paddle")
        if not said.isdecimal() or wanted is None or int(said) == wanted:
            continue
        name, log = next(((name, log) for name, log in _blocks(case) if log.job), ("", LaunchLog()))
        took = log.job.least if log.job else 0
        yield Finding(
            "nodes-differ-from-replicas",
            Severity.WRONG,
            place(name, log.job.line) if log.job else role.name,
            phrase("the command says --nnodes {nodes}, and the job has {pods}",
                   nodes=said, pods=_count(wanted)),
            _explain_taken(took, wanted),
            phrase("leave --nnodes out of the command, or ask for {nodes} replicas", nodes=said),
            case.asked.edit,
        )  # fmt: skip
        return


def _count(pods: int) -> Phrase:
    return counted("{count} pod that trains", "{count} pods that train", count=pods)


def _explain_taken(took: int, pods: int) -> Phrase:
    if took > pods:
        return phrase("the launcher waits for {nodes} nodes without a limit: nobody starts the others", nodes=took)
    if 0 < took < pods:
        return phrase("each pod trains on all data by itself, exchanges no gradient, and ends with exit code 0")
    return phrase("the launcher counts the addresses that the job gives it, so the option has no effect")


def _check_count(case: Case) -> Iterator[Finding]:
    """Compares the nodes that the launchers of a job wait for with its pods."""
    wanted = case.asked.nodes
    if wanted is None:
        return
    for name, log in _blocks(case):
        least = log.job.least if log.job else 0
        if ":" in log.argument("nnodes") or _is_run_check(log):
            continue
        if least > wanted:
            yield Finding(
                "waits-for-nodes-that-nobody-starts",
                Severity.WRONG,
                place(name, log.waits_since or (log.job.line if log.job else 0)),
                phrase("the launcher waits for {nodes} nodes, and the job has {pods}",
                       nodes=least, pods=_count(wanted)),
                phrase("it waits without a limit: nobody starts the others"),
                phrase("leave --nnodes out of the command, or ask for {nodes} replicas", nodes=least),
                case.asked.edit,
            )  # fmt: skip
            return
        if least < wanted and (role := case.asked.role_of(name)) and role.trains:
            yield Finding(
                "each-node-trains-alone",
                Severity.WRONG,
                place(name, log.job.line if log.job else 0),
                phrase("the launcher was told of {nodes} nodes, and the job has {pods}",
                       nodes=least, pods=_count(wanted)),
                phrase("each pod trains on all data by itself, exchanges no gradient, and ends with exit code 0"),
                phrase("leave --nnodes out of the command: Paddock tells each rank where the others are"),
                case.asked.edit,
            )  # fmt: skip
            return


def _check_torchrun(case: Case) -> Iterator[Finding]:
    """Reads the command of a job with torchrun, which prints no block."""
    for role in case.asked.roles:
        nodes, wanted = _find_nodes(role, "pytorch"), case.asked.nodes or 0
        if not nodes or ":" in nodes or read_nodes(nodes)[0] == wanted:
            continue
        more = read_nodes(nodes)[0] > wanted
        yield Finding(
            "waits-for-nodes-that-nobody-starts" if more else "each-node-trains-alone",
            Severity.WRONG,
            role.name,
            phrase("torchrun was told of {nodes} nodes, and the job has {pods}", nodes=nodes, pods=_count(wanted)),
            phrase("it waits for the others until its rendezvous times out")
            if more
            else phrase("each pod trains on all data by itself, exchanges no gradient, and ends with exit code 0"),
            phrase("leave --nnodes out of the command: Paddock tells each rank where the others are"),
            case.asked.edit,
        )
        return


def _check_alone(case: Case) -> Iterator[Finding]:
    """Finds hosts of one log that were each started for one node."""
    blocks = _blocks(case)
    hosts = {name for name, _ in blocks if name}
    if case.asked.job or len(hosts) < 2 or len({log.argument("training_script") for _, log in blocks}) > 1:
        return
    if all(log.job and log.job.most == 1 and not log.argument("ips") for _, log in blocks):
        name, log = blocks[0]
        yield Finding(
            "each-node-trains-alone",
            Severity.WRONG,
            place(name, log.job.line if log.job else 0),
            phrase("{count} hosts run the same script, and each was started for 1 node", count=len(hosts)),
            phrase("each host trains on all data by itself, exchanges no gradient, and ends with exit code 0"),
            phrase("start each host with the address of the first one, the number of hosts and its own rank"),
            build_command(log, {"master": "FIRST_HOST_IP:6170", "nnodes": str(len(hosts)), "rank": "0"}),
        )


def _check_disagreement(case: Case) -> Iterator[Finding]:
    """Launchers that are told to meet at different places never meet."""
    blocks = _blocks(case)
    for argument in _MEET if len(blocks) > 1 and not case.asked.job else ():
        values = {log.argument(argument) for _, log in blocks}
        if len(values) < 2 or (argument == "master" and "" in values):
            continue
        yield Finding(
            "hosts-disagree",
            Severity.WRONG,
            join_places([place(name, log.block_line) for name, log in blocks[:4]]),
            phrase("--{argument} differs: {values}", argument=argument, values=Names(tuple(sorted(values)))),
            phrase("launchers meet where --master, --job_id and --nnodes say the same, and wait for ever elsewhere"),
            phrase("start all hosts with the same values; only --rank and --host differ"),
            build_command(blocks[0][1], {}),
        )
        return


def _check_same_rank(case: Case) -> Iterator[Finding]:
    taken: dict[str, str] = {}
    for name, log in _blocks(case):
        rank = log.argument("rank")
        if not rank.isdecimal() or ":" in log.argument("nnodes"):
            continue
        if rank in taken and taken[rank] != name:
            yield Finding(
                "same-rank-twice",
                Severity.WRONG,
                join_places([place(taken[rank]), place(name, log.block_line)]),
                phrase("two hosts have --rank {rank}", rank=rank),
                phrase("one takes the place of the other, and all wait for the rank that is missing"),
                phrase("give each host a rank of its own, from 0"),
                build_command(log, {"rank": str(len(taken))}),
            )
            return
        taken[rank] = name

"""Why is the number of nodes not elastic?

PaddlePaddle's launcher is elastic if all of this holds (3.3.1): `--master etcd://…`, the package etcd3, `--nnodes` with
a range, `--elastic_level 1`, a `--job_id` of its own, and no fixed rank. `elastic True` in the log repeats the range
alone, with any master.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from paddock.doctor import signs
from paddock.doctor.case import Case, build_command, place, place_all
from paddock.doctor.findings import Finding, Severity, Where
from paddock.doctor.launch_block import PADDLE, LaunchLog
from paddock.words.phrases import Phrase, phrase

_LONG = 120
"""Seconds of --elastic_timeout above which a lost node looks like a run that hangs; 30 is the default."""
_ETCD = "etcd://ETCD_HOST:2379"


def check_elastic(case: Case) -> Iterator[Finding]:
    name, log = next(
        ((name, log) for name, log in case.logs.items() if log.launcher == PADDLE and _is_asked(log)), ("", LaunchLog())
    )
    if not log.arguments:
        return
    yield from _check_etcd3(case)
    yield from _check_settings(log, place(name, log.block_line))
    yield from _check_world_of_one(case)


def _check_settings(log: LaunchLog, where: Where) -> Iterator[Finding]:
    level = log.argument("elastic_level")
    is_range, is_etcd = ":" in log.argument("nnodes"), log.argument("master").startswith("etcd://")
    whole = {"master": log.argument("master") if is_etcd else _ETCD, "elastic_level": "1"}
    whole |= {"nnodes": log.argument("nnodes") if is_range else _widen(log.argument("nnodes"))}
    whole |= {"job_id": log.argument("job_id") if _has_own_id(log) else "my-job", "rank": ""}
    command = build_command(log, whole, {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"})
    if not is_etcd:
        yield _tell(
            "elastic-without-etcd", Severity.WRONG, where, command,
            phrase("{option} asks for elastic training, and the master is {master}",
                   option=f"--nnodes {log.argument('nnodes')}" if is_range else f"--elastic_level {level}",
                   master=log.argument("master") or "-"),
            phrase("without etcd nothing is elastic, whatever `elastic True` says: it waits for the most nodes"),
            phrase("start etcd, and name it as the master on each host"),
        )  # fmt: skip
    elif not is_range:
        yield _tell(
            "elastic-without-range", Severity.WRONG, where, command,
            phrase("the master is etcd, and --nnodes is {nodes}, no range", nodes=log.argument("nnodes") or "1"),
            phrase("without a range the number of nodes is fixed, and a lost node ends the run"),
            phrase("write --nnodes as LEAST:MOST"),
        )  # fmt: skip
    if is_etcd:
        yield from _check_etcd_settings(log, where, whole, command)


def _check_etcd_settings(log: LaunchLog, where: Where, whole: Mapping[str, str], command: str) -> Iterator[Finding]:
    level, timeout = log.argument("elastic_level"), log.argument("elastic_timeout")
    if not level.lstrip("-").isdecimal() or int(level) < 1:
        yield _tell(
            "elastic-level-is-off", Severity.RISK, where, command,
            phrase("--elastic_level is {level}", level=level or "-1"),
            phrase("nothing is started again after a failed node below level 1, the range only waits at the start"),
            phrase("write --elastic_level 1, and let the program go on from a checkpoint: each start is from its top"),
        )  # fmt: skip
    if not _has_own_id(log):
        yield _tell(
            "elastic-default-job-id", Severity.RISK, where, command,
            phrase("--job_id is {id}", id=log.argument("job_id") or "default"),
            phrase("it is the prefix of the job's keys in etcd: another job with it deletes them, and both break"),
            phrase("give each job an id of its own"),
        )  # fmt: skip
    if log.argument("rank").isdecimal():
        yield _tell(
            "elastic-fixed-rank", Severity.RISK, where, command,
            phrase("--rank is {rank}", rank=log.argument("rank")),
            phrase("ranks are assigned anew when nodes come and go; a fixed one may be assigned twice"),
            phrase("leave --rank out, and unset PADDLE_TRAINER_ID and PADDLE_RANK"),
        )  # fmt: skip
    if timeout.isdecimal() and int(timeout) > _LONG:
        yield _tell(
            "elastic-timeout-is-long", Severity.RISK, where, build_command(log, {**whole, "elastic_timeout": "30"}),
            phrase("--elastic_timeout is {seconds} seconds", seconds=timeout),
            phrase("so long the launchers wait for nodes before they start again with fewer"),
            phrase("write 30, the default, or less"),
        )  # fmt: skip


def _tell(
    check: str, severity: Severity, where: Where, command: str, what: Phrase, why: Phrase, mend: Phrase
) -> Finding:
    return Finding(check, severity, where, what, why, mend, command)


def _is_asked(log: LaunchLog) -> bool:
    level = log.argument("elastic_level")
    return (
        ":" in log.argument("nnodes")
        or log.argument("master").startswith("etcd://")
        or (level.isdecimal() and int(level) > 0)
    )


def _has_own_id(log: LaunchLog) -> bool:
    return log.argument("job_id") not in ("", "default")


def _widen(nodes: str) -> str:
    return f"1:{nodes}" if nodes.isdecimal() and int(nodes) > 1 else "1:2"


def _check_etcd3(case: Case) -> Iterator[Finding]:
    if found := case.find(signs.NO_ETCD3):
        yield _tell(
            "etcd3-is-missing", Severity.WRONG, place_all(found),
            "pip install etcd3 && export PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python",
            phrase("the launcher ended, as the package etcd3 is not installed"),
            phrase("the launcher speaks with etcd through it"),
            phrase("install it in the environment of each node; its protobuf code needs the variable"),
        )  # fmt: skip
    elif found := case.find(signs.ETCD_PROTOBUF):
        yield _tell(
            "etcd3-and-protobuf", Severity.WRONG, place_all(found),
            "export PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python",
            phrase("etcd3 cannot be imported beside this protobuf"),
            phrase("etcd3 0.12 has code of an older protobuf, which today's takes in Python alone"),
            phrase("set the variable on each node; no package has to be older for it"),
        )  # fmt: skip
    if found := case.find(signs.ETCD_UNREACHABLE):
        master = found[0][1].argument("master")
        yield _tell(
            "etcd-is-unreachable", Severity.WRONG, place_all(found),
            f"curl --max-time 3 {master.replace('etcd://', 'http://')}/health",
            phrase("etcd does not answer at {master}", master=master),
            phrase("without it no node is found"),
            phrase("see that etcd listens on an address that each node reaches, not on 127.0.0.1 alone"),
        )  # fmt: skip


def _check_world_of_one(case: Case) -> Iterator[Finding]:
    """With one node left `init_parallel_env` makes no group, and a bare `all_reduce` fails (3.3.1)."""
    found = [each for each in case.find(signs.NO_GROUP) if each[1].sign(signs.NOT_PARALLEL)]
    if found:
        yield _tell(
            "collective-in-a-world-of-one", Severity.WRONG, place_all(found),
            "",
            phrase("with one node left the program called a collective, and there is no group of one"),
            phrase("each new start fails in the same way, until --max_restart is used up"),
            phrase("call collectives only if dist.get_world_size() > 1, or let the range begin at 2"),
        )  # fmt: skip

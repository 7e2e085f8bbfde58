"""Did it start as it was asked for? Arguments that are not in effect, the launcher of other years, no group.

`Watching Pod` in the log is the sign of a start. `elastic True` and `replicas 3[2:3]` are none: the launcher prints
them before any peer is there (PaddlePaddle 3.0.0 and 3.3.1).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from paddock.doctor import signs
from paddock.doctor.case import Case, build_command, join_places, place, place_all
from paddock.doctor.findings import Finding, Severity
from paddock.doctor.launch_block import PADDLE as OF_PADDLE
from paddock.doctor.launch_block import LaunchLog
from paddock.launches.launchers import PADDLE
from paddock.launches.reading import read_typed
from paddock.logs.complaints import read_complaint
from paddock.preflight.paddle_options import explain_launch, is_paddle
from paddock.words.phrases import Names, Phrase, phrase

_APART = frozenset({"cluster_node_ips", "node_ip", "started_port", "selected_gpus"})
"""Options of other years without which each machine trains alone, or with other devices."""


_ASKED = frozenset({"nnodes", "nproc_per_node", "devices", "run_mode", "elastic_level", "max_restart"})
"""Options that say how to train. Those by which ranks meet are replaced in every job, and that is meant."""


def check_started(case: Case) -> Iterator[Finding]:
    yield from _check_old_launcher(case)
    yield from _check_not_in_effect(case)
    yield from _check_old_options(case)
    yield from _check_servers(case)
    yield from _check_launcher_servers(case)
    yield from _check_no_group(case)
    yield from _check_never_started(case)
    yield from _check_not_ready(case)


def _check_old_launcher(case: Case) -> Iterator[Finding]:
    """`Compatible mode enable with args […]`: an option that today's launcher does not know."""
    found = case.find(signs.COMPATIBLE)
    if not found:
        return
    _name, log, sign = found[0]
    options = _read_options(sign.text)
    typed = [f"--{name}={value}" if value is not None else f"--{name}" for name, value in options.items()]
    launches = read_typed(["python", "-m", PADDLE.name, *typed, "train.py"]).launches
    told = [each.said for launch in launches for each in explain_launch(launch)]
    wrong = not _APART.isdisjoint(options)
    known = {option: value or "" for option, value in options.items() if PADDLE.find(f"--{option}")}
    yield Finding(
        "old-launcher",
        Severity.WRONG if wrong else Severity.RISK,
        place_all(found),
        phrase(
            "the launcher does not know {options} and has started the old launcher in its place",
            options=Names(tuple(f"--{each}" for each in options)),
        ),
        _join(told) or phrase("the old launcher ignores what it does not know, and is going to be removed"),
        phrase("write options that the launcher knows, and see that the log has `Watching Pod`"),
        _rewrite(case, log, options, known),
    )


def _read_options(text: str) -> dict[str, str | None]:
    """`… with args ['--workers=a,b', '--http_port']` -> name and value."""
    start = text.find("[")
    try:
        words = ast.literal_eval(text[start : text.rfind("]") + 1]) if start >= 0 else []
    except (ValueError, SyntaxError):
        words = []
    found: dict[str, str | None] = {}
    for word in words if isinstance(words, list) else []:
        option, equals, value = str(word).partition("=")
        if option.startswith("--"):
            found[option.lstrip("-")] = value if equals else None
    return found


def _rewrite(case: Case, log: LaunchLog, options: dict[str, str | None], known: dict[str, str]) -> str:
    """Today's command in place of one with options of other years."""
    nodes = [each for each in (options.get("cluster_node_ips") or "").split(",") if each]
    changes = dict(known)
    if nodes:
        own = options.get("node_ip") or ""
        changes |= {"master": f"{nodes[0]}:{options.get('started_port') or 6170}", "nnodes": str(len(nodes))}
        changes |= {"rank": str(nodes.index(own))} if own in nodes else {}
    if options.get("selected_gpus"):
        changes["devices"] = str(options["selected_gpus"])
    kept = {
        name: value for name, value in log.arguments.items() if name in PADDLE.options and name not in ("ips", "job_id")
    }
    kept |= {name: value for name, value in log.arguments.items() if name.startswith("training_script")}
    if options.get("workers"):
        changes["trainers"] = str(options["workers"])
    return build_command(LaunchLog(arguments=kept), changes)


def _check_not_in_effect(case: Case) -> Iterator[Finding]:
    """Finds an option of a job's command that the launcher's block does not have."""
    for name, log in case.logs.items():
        role = case.asked.role_of(name)
        launch = role.launch if role else None
        if launch is None or not is_paddle(launch) or not log.arguments or log.launcher != OF_PADDLE:
            continue
        for option, value in ((each.name, each.text) for each in launch.options if each.name in _ASKED):
            printed = log.argument(option)
            if option not in log.arguments or not value or value == printed:
                continue
            by = log.find_overridden(option)
            variable = by.variable if by else "PADDLE_TRAINER_ENDPOINTS"
            yield Finding(
                "argument-not-in-effect",
                Severity.WRONG,
                place(name, by.line if by else log.block_line),
                phrase(
                    "the command says --{option} {value}, and the launcher took {printed} from {variable}",
                    option=option, value=value, printed=printed or "-", variable=variable,
                ),
                phrase("a variable of the environment counts more than an option of the command"),
                phrase(
                    "leave --{option} out of the command, or {variable} out of the environment; Paddock sets it so "
                    "that the ranks find each other",
                    option=option, variable=variable,
                ),
                case.asked.edit,
            )  # fmt: skip
            return


def _check_old_options(case: Case) -> Iterator[Finding]:
    """Finds options of a job's command that the launcher ignores, as it has a master."""
    if case.find(signs.COMPATIBLE):
        return
    for role in case.asked.roles:
        if role.launch is None or not is_paddle(role.launch):
            continue
        told = list(explain_launch(role.launch, has_master="PADDLE_MASTER" in role.variables, in_job=True))
        if told:
            wrong = any(each.severity == "error" for each in told)
            yield Finding(
                "old-arguments",
                Severity.WRONG if wrong else Severity.RISK,
                role.name,
                _join([each.said for each in told]) or phrase("options of the old launcher"),
                phrase("the launcher ignores options that it does not know, and trains otherwise than they say"),
                phrase("write the command with options that the launcher knows"),
                case.asked.edit,
            )
            return


def _check_servers(case: Case) -> Iterator[Finding]:
    """PaddlePaddle's wheels have no parameter servers after 3.0.0."""
    if found := case.find(signs.NO_SERVERS):
        yield Finding(
            "wheel-without-parameter-servers",
            Severity.WRONG,
            place_all(found),
            phrase("this PaddlePaddle has no parameter servers: {said}", said=found[0][2].text[-120:]),
            phrase("PyPI's wheels have had none since 3.1; `core.is_compiled_with_brpc()` still says True"),
            phrase("train with PaddlePaddle 3.0.0, and protobuf below 7"),
            'pip install "paddlepaddle==3.0.0" "protobuf<7"',
        )


def _check_launcher_servers(case: Case) -> Iterator[Finding]:
    """Parameter servers that today's launcher starts never end, and it waits for them."""
    found = [
        (name, log) for name, log in case.logs.items()
        if log.launcher == OF_PADDLE and log.job and log.job.mode == "ps" and log.watching
    ]  # fmt: skip
    if not found:
        return
    name, log = found[0]
    yield Finding(
        "launcher-waits-for-servers",
        Severity.RISK,
        place(name, log.job.line if log.job else 0),
        phrase("the launcher has started parameter servers, which never end, and waits for them"),
        phrase("the run trains to its end and then stays for ever; whatever waits for it waits too"),
        phrase("make it a job with the roles ps and worker: Paddock ends the servers when the workers have ended"),
        "paddock init --from run.sh",
    )


def _check_no_group(case: Case) -> Iterator[Finding]:
    """`init_parallel_env` did nothing, while several ranks were asked for."""
    found = [each for each in case.find(signs.NOT_PARALLEL) if not _is_elastic(each[1])]
    expects = case.nodes > 1 or any(log.watching and log.watching.count > 1 for _, log, _ in found)
    if found and expects and not case.find(signs.COMPATIBLE):
        yield Finding(
            "no-parallel-environment",
            Severity.WRONG,
            place_all(found),
            phrase(
                "`init_parallel_env()` did nothing, and {count} nodes were asked for: each trains alone",
                count=case.nodes,
            ),
            phrase("each rank trains on all data, and no gradient is exchanged; the run ends with exit code 0"),
            phrase("start the program with `python -m paddle.distributed.launch`, which tells each rank of the others"),
            build_command(case.first, {}),
        )


def _is_elastic(log: LaunchLog) -> bool:
    return ":" in log.argument("nnodes")


def _check_never_started(case: Case) -> Iterator[Finding]:
    """A block, and no `Watching Pod` after it, though the launcher has ended."""
    for name, log in case.logs.items():
        if log.launcher != OF_PADDLE or log.may_have_started or not (log.block_line or log.job) or log.waits_since:
            continue
        last = read_complaint(log.last_text)
        if log.exit_code is None and last is None:
            continue
        said = last.text if last else log.last_text
        yield Finding(
            "never-started",
            Severity.WRONG,
            place(name, log.last_line),
            phrase("the launcher ended before it started a process: {said}", said=said[:200]),
            phrase("`Watching Pod` is the sign that it has started, and it is not in the log"),
            phrase("look at the first error of the log"),
            case.asked.logs.replace("--raw", "--first-error") if case.asked.job else "",
        )
        return


def _check_not_ready(case: Case) -> Iterator[Finding]:
    """A rank that its probe holds back for longer than it gives the program to start: the job counts it as starting."""
    held = [name for name, seen in case.ranks.items() if seen.unready]
    if not held:
        return
    yield Finding(
        "not-ready",
        Severity.WRONG,
        join_places([*held[:4], *([f"+{len(held) - 4}"] if len(held) > 4 else [])]),
        phrase("container {name} of {rank} runs, and is not ready by its probe",
               name=case.ranks[held[0]].unready, rank=held[0]),
        phrase("a job runs once all of its ranks are ready, and its Service may not lead to one that is not"),
        phrase("see what the probe was told, and correct the probe or what it asks"),
        case.asked.describe,
    )  # fmt: skip


def _join(said: list[Phrase]) -> Phrase | None:
    joined = said[0] if said else None
    for each in said[1:]:
        joined = phrase("{first}; {second}", first=joined or "", second=each)
    return joined

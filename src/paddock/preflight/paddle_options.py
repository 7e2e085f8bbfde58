"""Warns of command lines of PaddlePaddle's launcher that are of other years: most of them run, and do something else.

What happens today was measured with the launchers of PaddlePaddle 3.0.0 and 3.3.1, which behave alike;
tests/preflight/test_paddle_options_real.py repeats it. Without --master, an option that the launcher does not know
makes it the old one (paddle.distributed.fleet.launch); with --master, or PADDLE_MASTER, it is ignored without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from paddock.launches.launch import Launch, Option, list_variables, starts_old
from paddock.launches.launchers import GONE_PADDLE, OLD_DEVICES, OLD_PADDLE, PADDLE, Launcher, Means
from paddock.preflight.paddle_cures import (
    DROPPED,
    advise,
    advise_all,
    find_today,
    find_unknown,
    is_nothing,
    is_placing,
    name_options,
    place,
    quote,
)
from paddock.words.phrases import Names, Phrase, phrase

_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
_WHOLE = re.compile(r"[1-9][0-9]{0,5}")
_MASTER = re.compile(r"(etcd://)?[^\s:/\[\]]+:\d+(,.*)?")


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of one option, or of the command: an error where it never starts."""

    said: Phrase
    severity: str = "warning"


def is_paddle(launch: Launch) -> bool:
    """Whether a command starts one of PaddlePaddle's launchers, also one that no longer exists."""
    return launch.launcher in (PADDLE, OLD_PADDLE, GONE_PADDLE)


def _text(launch: Launch, name: str) -> str:
    """The value of an option; empty without it, and where the value is not known."""
    option = launch.named(name)
    return (option.text or "") if option is not None else ""


def _typed(launch: Launch, name: str) -> str:
    """The value as it was typed, for people."""
    option = launch.named(name)
    return option.value.typed if option is not None and option.value is not None else ""


def _has(launch: Launch, name: str) -> bool:
    return launch.named(name) is not None


def explain_launch(launch: Launch, *, has_master: bool = False, in_job: bool = False) -> Iterator[Told]:
    """What is wrong with a command of `is_paddle`, the worst first; nothing of what is not known, and no error of one
    on which a condition decides, as it may be there for another machine. `has_master`: PADDLE_MASTER is set. `in_job`:
    it is the command of a job, where Paddock tells each rank where the others are."""
    for each in _explain_launch(launch, has_master=has_master, in_job=in_job):
        yield replace(each, severity="warning") if launch.command.is_conditional else each


def _explain_launch(launch: Launch, *, has_master: bool, in_job: bool) -> Iterator[Told]:
    module = _name_module(launch)
    if launch.launcher is GONE_PADDLE:
        said = phrase(
            "there is no {module} since PaddlePaddle 2.3: it ends with exit code 1; write python -m "
            "paddle.distributed.launch",
            module=module,
        )
        yield Told(said, "error")
        return
    if any(" " in option.words[0].beginning.partition("=")[0] for option in launch.options):
        return  # an option and its value in one word are told by `command_words`
    yield from _explain_values(launch)
    yield from _explain_variables(launch, in_job=in_job)
    # the old launcher knows no master, and reads no variable of one
    is_placed = launch.launcher is PADDLE and (has_master or _has(launch, "master"))
    if launch.is_open and not is_placed:
        return  # `$ARGS` may name the master, by which all else is decided
    stray = _find_stray(launch, is_placed=is_placed)
    if stray is not None:
        yield _explain_stray(launch, stray, in_job=in_job)
        return
    if not is_placed and starts_old(launch):
        yield from (Told(said, "error") for said in _explain_asserted(launch))
    yield from _explain_refused(launch, is_placed=is_placed)
    yield from _explain_servers(launch, is_placed=is_placed)
    yield from _explain_placed(launch, is_placed=is_placed, in_job=in_job)
    yield from _explain_unknown(launch, is_placed=is_placed)
    if launch.launcher is OLD_PADDLE:
        yield Told(_explain_old(launch))


def _explain_old(launch: Launch) -> Phrase:
    named = [each for each in launch.options if each.mark in ("--gpus", "--xpus")]
    if not named:
        return phrase("{module} is the old launcher: write paddle.distributed.launch", module=_name_module(launch))
    return phrase(
        "{module} is the old launcher, which knows {option} only with a wheel for such devices: write python -m "
        "paddle.distributed.launch {advice}",
        module=_name_module(launch), option=named[-1].mark, advice=f"--devices {quote(named[-1])}",
    )  # fmt: skip


def _name_module(launch: Launch) -> str:
    """What `-m` names, or `fleetrun`."""
    return launch.before[-1].typed if len(launch.before) > 1 else "fleetrun"


_REFUSED = frozenset({"np"})
_HETER = frozenset({"heter_workers", "heter_worker_num", "heter_devices"})
_SERVERS = ("servers", "trainers", "server_num", "trainer_num")
_WORKERS = {"workers": "trainers", "worker_num": "trainer_num"}
_OF_SERVERS = _HETER | {"server_num", "servers", "worker_num", "workers", "trainer_num", "trainers"}
_TOLD_APART = _REFUSED | _HETER | frozenset(_WORKERS)
"""Options that have sentences of their own."""


def _explain_stray(launch: Launch, option: Option, *, in_job: bool) -> Told:
    said = phrase(
        "the launcher does not know {option} and takes {value} for the program: it ends with exit code 1; {advice}",
        option=option.mark, value=quote(option), advice=advise_all(launch, in_job=in_job),
    )  # fmt: skip
    return Told(said, "error")


def _find_stray(launch: Launch, *, is_placed: bool) -> Option | None:
    """The option whose value, behind a blank, is the program for the launcher that runs; None without one, and where
    the value is known to the shell alone."""
    if launch.stray is not None and not _is_ambiguous(launch.stray):
        return launch.stray
    known = PADDLE if is_placed or not starts_old(launch) else OLD_PADDLE
    spaced = (option for option in launch.options if len(option.words) > 1 and option.text)
    return next((option for option in spaced if not _is_of(known, option) and not _is_ambiguous(option)), None)


def _is_ambiguous(option: Option) -> bool:
    """Whether today's launcher, which reads them first, takes it for the beginning of several, and ends."""
    return len(PADDLE.list_candidates(option.mark)) > 1


def _is_of(launcher: Launcher, option: Option) -> bool:
    return option.name in launcher.options or launcher.find(option.mark) is not None


def _explain_asserted(launch: Launch) -> Iterator[Phrase]:
    """Why the old launcher ends with exit code 1 before it starts a program: what it asserts of servers and heter ranks
    (fleet/launch_utils.py, ParameterServerLauncher)."""
    given = {option.name for option in launch.options if option.text not in ("", "0")}
    # `$ARGUMENTS` in the place of the program may hold the options that are missing
    if not given & _OF_SERVERS or launch.program.word.usual is None:
        return
    ends = phrase("the old launcher ends with an AssertionError")
    if _text(launch, "run_mode") == "collective":
        yield phrase("{ends}: --run_mode collective has no servers; leave it out", ends=ends)
    if not given & {"server_num", "servers"}:
        yield phrase("{ends}: name the servers by --server_num or --servers", ends=ends)
    if not given & {"worker_num", "workers"}:
        yield phrase("{ends}: name the workers by --worker_num or --workers, it knows no --trainer_num", ends=ends)
    count, servers = _text(launch, "server_num"), _text(launch, "servers")
    if _WHOLE.fullmatch(count) and servers and len(servers.split(",")) != int(count):
        yield phrase("{ends}: --server_num is {count}, and --servers names {named}", ends=ends,
                     count=count, named=len(servers.split(",")))  # fmt: skip
    heter = given & {"heter_workers", "heter_worker_num"}
    if "heter_devices" in given and not heter:
        yield phrase("{ends}: name the heter ranks by --heter_worker_num", ends=ends)
    stages = max((_text(launch, name).count(";") + 1 for name in heter), default=0)
    devices = _text(launch, "heter_devices")
    if devices and stages > devices.count(";") + 1:
        yield phrase(
            'the old launcher ends with a KeyError: there are {stages} stages of heter ranks, and --heter_devices has '
            '{devices}; write one for each, as in "cpu;cpu"',
            stages=stages, devices=devices.count(";") + 1,
        )  # fmt: skip


def _explain_refused(launch: Launch, *, is_placed: bool) -> Iterator[Told]:
    if _has(launch, "np"):
        said = phrase(
            "--np is refused with exit code 2 (it could be --nproc_per_node or --npus): write --nnodes {value}",
            value=_typed(launch, "np"),
        )
        yield Told(said, "error")
    given = [option.name for option in launch.options]
    for option in launch.options:
        found = PADDLE.list_candidates(option.mark) if option.name else []
        if len(found) > 1 and option.name != "np":
            said = phrase("{option} is refused with exit code 2: it could be {names}", option=option.mark,
                          names=tuple(found))  # fmt: skip
            yield Told(said, "error")
    if "http_port" in given and not is_placed and not {*_SERVERS, *_WORKERS}.intersection(given):
        said = phrase(
            "--http_port without --servers ends with an AssertionError: leave it out, or write --gloo_port {value}",
            value=_typed(launch, "http_port"),
        )
        yield Told(said, "error")
    heter = sorted(name for name in given if name in _HETER)
    if heter and is_placed:
        said = phrase("{options} are ignored, as the launcher has a master: leave it out, and write --servers and "
                      "--trainers", options=_name(heter))  # fmt: skip
        yield Told(said)
    elif heter and "heter_devices" in heter:
        said = phrase("{options} are for the old launcher alone, and for PaddlePaddle up to 3.0: today's has no "
                      "heterogeneous servers; a program trains there only where it mends PaddlePaddle's Python "
                      "(docs/servers.md)", options=_name(heter))  # fmt: skip
        yield Told(said)
    elif heter:
        said = phrase(
            "--{name} without --heter_devices ends with an AssertionError: add --heter_devices, which only the old "
            "launcher knows, up to PaddlePaddle 3.0",
            name=heter[0],
        )
        yield Told(said, "error")


def _explain_placed(launch: Launch, *, is_placed: bool, in_job: bool) -> Iterator[Told]:
    """The options of 2019, and of other launchers, by which nodes find each other."""
    used = [option for option in launch.options if is_placing(option)]
    if not used:
        return
    advice = (
        phrase("leave them out: Paddock tells each rank where the others are")
        if in_job
        else phrase("write {words}", words=place(launch))
    )
    if is_placed:
        said = phrase(
            "{options} are ignored, as the launcher has a master: {advice}", options=name_options(used), advice=advice
        )
        yield Told(said)
        return
    said = phrase(
        "the launcher ignores {options}: each machine trains alone, as a job of one machine, and ends with exit "
        "code 0; {advice}",
        options=name_options(used), advice=advice,
    )  # fmt: skip
    yield Told(said)


def _explain_unknown(launch: Launch, *, is_placed: bool) -> Iterator[Told]:
    """Options that today's launcher does not know, and their values behind a `=`."""
    # each name once, however often it stands there
    found = {each.name: each for each in find_unknown(launch)}
    unknown = [each for name, each in found.items() if name not in _TOLD_APART and not is_placing(each)]
    devices = [each for each in unknown if each.name in OLD_DEVICES]
    today = {each.name: find_today(each.name) for each in unknown}
    renamed = [each for each in unknown if each.name not in OLD_DEVICES and today[each.name]]
    yield from (Told(_explain_devices(each, is_placed=is_placed)) for each in devices)
    if renamed:
        names, words = name_options(renamed), " ".join(map(advise, renamed))
        yield Told(
            phrase("the launcher has a master, and ignores {options}: write {advice}", options=names, advice=words)
            if is_placed
            else phrase("because of {options} the old launcher starts: write {advice}", options=names, advice=words)
        )
    for option in unknown:
        if option.name not in OLD_DEVICES and not today[option.name]:
            yield Told(_explain_nothing(option, is_placed=is_placed))


def _explain_devices(option: Option, *, is_placed: bool) -> Phrase:
    if is_placed:
        return phrase("{option} is ignored, and all devices are used: write {advice}", option=option.typed,
                      advice=advise(option))  # fmt: skip
    if len(option.words) > 1:
        return phrase(
            "{option} makes it the old launcher, which takes it for --gpus, and with a wheel for CPUs takes {value} "
            "for the program: write {advice}",
            option=option.typed, value=quote(option), advice=advise(option),
        )  # fmt: skip
    return phrase(
        "{option} makes it the old launcher, which takes it for --gpus, and with a wheel for CPUs ignores it and "
        "starts one process: write {advice}",
        option=option.typed, advice=advise(option),
    )  # fmt: skip


def _explain_nothing(option: Option, *, is_placed: bool) -> Phrase:
    if option.name in DROPPED:
        return phrase("{option} does nothing: leave it out", option=option.typed)
    if is_nothing(option.name):
        return (
            phrase("{option} is ignored: no launcher of today knows it; leave it out", option=option.typed)
            if is_placed
            else phrase(
                "{option} makes it the old launcher (paddle.distributed.fleet.launch), as today's does not know it: "
                "leave it out",
                option=option.typed,
            )
        )
    if is_placed:
        return phrase("{option} is ignored: no launcher of today knows it; write an option of the program behind it",
                      option=option.typed)  # fmt: skip
    return phrase(
        "{option} makes it the old launcher (paddle.distributed.fleet.launch), as today's does not know it: write an "
        "option of the program behind it",
        option=option.typed,
    )


def _explain_servers(launch: Launch, *, is_placed: bool) -> Iterator[Told]:
    """Parameter servers by the launcher: the old one ends them with its own workers, today's never does."""
    old = sorted(name for name in _WORKERS if _has(launch, name))
    if old and is_placed:
        said = phrase(
            "{options} are ignored, as the launcher has a master, and one trainer starts: a job with the roles ps and "
            "worker starts all",
            options=_name(old),
        )
        yield Told(said)
    elif old:
        said = phrase(
            "{options}: the old launcher starts, which ends with exit code 0 also where a worker or a server has "
            "failed, and where gloo is off unless PADDLE_WITH_GLOO=1; today's, with {today}, never ends, as its "
            "servers do not; a job with the roles ps and worker has neither fault",
            options=_name(old), today=_name([_WORKERS[name] for name in old]),
        )  # fmt: skip
        yield Told(said)
    serving = [name for name in _SERVERS if _has(launch, name)]
    if serving and not old and launch.launcher is not OLD_PADDLE:
        said = phrase(
            "{options}: parameter servers that the launcher starts never end, and it waits for them; a job with the "
            "roles ps and worker ends them",
            options=_name(serving),
        )
        yield Told(said)


def _name(options: Sequence[str]) -> Names:
    return Names(tuple(f"--{each}" for each in options))


def _explain_values(launch: Launch) -> Iterator[Told]:
    """Today's options with values that do something else than they say."""
    several, master = _text(launch, "nnodes") not in ("", "1"), _text(launch, "master")
    if several and master and not _MASTER.fullmatch(master):
        said = phrase(
            "--master {value} ends with a ValueError: it is ADDRESS:PORT, or etcd://ADDRESS:PORT", value=master
        )
        yield Told(said, "error")
    if _text(launch, "nnodes") == "0":
        yield Told(phrase("--nnodes 0 trains alone, and ends with exit code 0: write how many machines there are"))
    mode = _text(launch, "run_mode")
    if mode and mode not in ("collective", "ps"):
        yield Told(phrase("--run_mode {mode} becomes collective: collective and ps are the modes", mode=mode))
    if (legacy := _text(launch, "legacy")).lower() in ("true", "1", "yes"):
        said = phrase("--legacy {value} starts the old launcher, which takes {value} for the program: leave it out",
                      value=legacy)  # fmt: skip
        yield Told(said, "error")
    yield from _explain_hosts([each for each in _text(launch, "ips").split(",") if each])


def _explain_variables(launch: Launch, *, in_job: bool) -> Iterator[Told]:
    """Variables that count more than the options beside them (args_envs.py, 3.0.0 and 3.3.1)."""
    for option, variable in list_variables(launch):
        value = launch.environment[variable].text
        is_known = value is not None and option.text is not None
        if is_known and value != option.text and not (in_job and variable in _OURS):
            said = phrase(
                "{variable}={value} is set too, and counts more than {option}: leave one of them out",
                variable=variable, value=str(value), option=option.typed,
            )  # fmt: skip
            yield Told(said)
    placed = tuple(option.typed for option in launch.options if option.name in ("nnodes", "master"))
    if "PADDLE_TRAINER_ENDPOINTS" in launch.environment and placed and not in_job:
        said = phrase(
            "PADDLE_TRAINER_ENDPOINTS is set: the launcher takes the nodes and the master from it, not from {options}; "
            "`unset PADDLE_TRAINER_ENDPOINTS` before it",
            options=Names(placed),
        )
        yield Told(said)
    yield from _explain_elastic(launch)
    yield from _explain_visible(launch)


def _explain_elastic(launch: Launch) -> Iterator[Told]:
    """Variables of the old launcher's elastic training, which today's does not read (fleet/elastic, 3.3.1)."""
    given = sorted(name for name in launch.environment if name.startswith("PADDLE_ELASTIC_") and name not in _ELASTIC)
    if not given or launch.is_open or (starts_old(launch) and not _has(launch, "master")):
        return
    server, nodes = launch.environment.get("PADDLE_ELASTIC_SERVER"), launch.environment.get("PADDLE_ELASTIC_NP")
    address = (server.text if server is not None else None) or "ADDRESS:2379"
    count = (nodes.text if nodes is not None else None) or "N"
    said = phrase(
        "only the old launcher reads {variables}; today's meets at an etcd by --master etcd://{address} "
        "--nnodes {count}, and goes on after a loss with --elastic_level 1",
        variables=Names(tuple(given)), address=address, count=count,
    )  # fmt: skip
    yield Told(said)


_ELASTIC = frozenset(spec.variable for spec in PADDLE.options.values() if spec.means is Means.ELASTIC)


def _explain_visible(launch: Launch) -> Iterator[Told]:
    """Cards of `--devices` that CUDA_VISIBLE_DEVICES does not show."""
    devices, visible = launch.named("devices"), launch.environment.get("CUDA_VISIBLE_DEVICES")
    if devices is None or visible is None or not devices.text or not visible.text:
        return
    asked, shown = ([each.strip() for each in text.split(",")] for text in (devices.text, visible.text))
    if all(each.isdecimal() for each in (*asked, *shown)) and not set(asked) <= set(shown):
        said = phrase(
            "{option} names cards that CUDA_VISIBLE_DEVICES={visible} does not show: the launcher names cards by their "
            "number on the machine; write --devices {visible}",
            option=devices.typed, visible=",".join(shown),
        )  # fmt: skip
        yield Told(said)


_OURS = frozenset({"PADDLE_MASTER", "PADDLE_NNODES", "PADDLE_RANK", "PADDLE_JOB_ID", "POD_IP", "PADDLE_LOG_DIR"})
"""Variables that Paddock sets in each pod, in place of what the template says."""


def _explain_hosts(hosts: Sequence[str]) -> Iterator[Told]:
    """Of `--ips`: a machine finds its rank by the place of its own address in the list, letter by letter."""
    addresses = [each.strip().partition(":")[0] for each in hosts]
    if len(hosts) > 1 and any(each.startswith("127.") for each in addresses):
        said = phrase("--ips with 127.0.0.1 among several ends with a ValueError: write the machines' own addresses")
        yield Told(said, "error")
    elif hosts != addresses and all(map(_ADDRESS.fullmatch, addresses)):
        said = phrase(
            "--ips has a blank or a port beside an address: a machine that does not find its own address there is rank "
            "0; write --ips {hosts}",
            hosts=",".join(addresses),
        )
        yield Told(said)
    elif any(not _ADDRESS.fullmatch(each) for each in addresses):
        said = phrase("--ips reads addresses alone: with names every machine is rank 0, and trains alone; write "
                      "--master IP:PORT --nnodes {count} --rank R", count=str(len(hosts)))  # fmt: skip
        yield Told(said)

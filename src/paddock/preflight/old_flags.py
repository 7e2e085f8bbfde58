"""Warns of command lines of PaddlePaddle's launcher that are of other years: most of them run, and do something else.

What happens today was measured with the launchers of PaddlePaddle 3.0.0 and 3.3.1, which behave alike;
tests/preflight/test_old_flags_real.py repeats it. Without --master, an option that the launcher does not know
makes it the old one (paddle.distributed.fleet.launch); with --master, or PADDLE_MASTER, it is ignored without a word.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paddock.jobs.reading.commands import OpenQuote, read_commands, read_script
from paddock.manifests.parts import Container, Part
from paddock.words.phrases import Names, Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told

TODAY = frozenset({
    "master", "legacy", "rank", "log_level", "log_overwrite", "sort_ip", "enable_gpu_log", "nnodes", "nproc_per_node",
    "log_dir", "run_mode", "job_id", "devices", "gpus", "npus", "xpus", "host", "ips", "start_port",
    "auto_parallel_config", "auto_cluster_config", "auto_tuner_json", "servers", "trainers", "trainer_num",
    "server_num", "gloo_port", "with_gloo", "max_restart", "elastic_level", "elastic_timeout", "help",
})  # fmt: skip
"""Options of 3.0.0 and 3.3.1; each takes a value, and argparse takes any prefix of one."""

OF_OLD = frozenset({
    "log_dir", "backend", "nproc_per_node", "run_mode", "ips", "cluster_topo_path", "rank_mapping_path",
    "enable_auto_mapping", "servers", "workers", "coordinators", "heter_workers", "heter_devices", "worker_num",
    "coordinator_num", "server_num", "heter_worker_num", "http_port", "elastic_server", "elastic_pre_hook", "job_id",
    "scale", "host", "force",
})  # fmt: skip
"""Options of the old launcher with a wheel for CPUs (fleet/launch.py, 2.6.2 to 3.3.1)."""

_PYTHON = re.compile(r"python[\d.]*")
_GONE = re.compile(r"paddle\.distributed\.launch_ps|paddle\.fluid(\..*)?")
_MODULES = frozenset({"paddle.distributed.launch", "paddle.distributed.run", "paddle.distributed.fleet.launch"})
_OLD_MODULE = "paddle.distributed.fleet.launch"
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
_WHOLE = re.compile(r"[1-9][0-9]{0,5}")
_MASTER = re.compile(r"(etcd://)?[^\s:/\[\]]+:\d+(,.*)?")


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of one option, or of the command: an error where it never starts."""

    said: Phrase
    severity: str = "warning"


@dataclass(frozen=True, slots=True)
class PaddleLaunch:
    """A command line of PaddlePaddle's launcher."""

    module: str
    """What `-m` names, or `fleetrun`."""
    options: Mapping[str, str | None]
    """Name without dashes -> value, None where none follows."""
    rest: tuple[str, ...]
    stray: str = ""
    """The option whose value the launcher takes for the program."""
    spaced: tuple[str, ...] = ()
    """Options whose values stand behind a space, as each of the two launchers takes the value of an option that it does
    not know for the program."""

    def value(self, name: str) -> str:
        return self.options.get(name) or ""

    @property
    def starts_old(self) -> bool:
        """Whether it is the old launcher, where no master is named."""
        return self.module == _OLD_MODULE or any(not find_candidates(name) for name in self.options)


def find_paddle_launch(words: Sequence[str]) -> PaddleLaunch | None:
    """The launcher that a simple command starts, also one that no longer exists; None without one."""
    if not words:
        return None
    if posixpath.basename(words[0]) == "fleetrun":
        return _read_options("fleetrun", words[1:])
    if not _PYTHON.fullmatch(posixpath.basename(words[0])):
        return None
    for place, word in enumerate(words[:-1]):
        if word == "-m":
            module = words[place + 1]
            is_one = module in _MODULES or _GONE.fullmatch(module)
            return _read_options(module, words[place + 2 :]) if is_one else None
    return None


def _read_options(module: str, words: Sequence[str]) -> PaddleLaunch:
    """As argparse reads them: an unknown option's next word is no value of it, but the program."""
    options: dict[str, str | None] = {}
    spaced: list[str] = []
    place = 0
    while place < len(words) and words[place].startswith("-"):
        name, equals, value = words[place].lstrip("-").partition("=")
        known = find_known(name)
        place += 1
        if equals or known == "help":
            options[known or name] = value
        elif known or name in OF_OLD:
            options[known or name] = words[place] if place < len(words) else None
            spaced.append(known or name)
            place += 1
        else:
            options[name] = None
            following = words[place : place + 2]
            if following and not following[0].startswith("-") and not following[0].endswith(".py"):
                options[name] = following[0]
                return PaddleLaunch(module, options, tuple(words[place:]), name, tuple(spaced))
    return PaddleLaunch(module, options, tuple(words[place:]), spaced=tuple(spaced))


def find_known(name: str) -> str:
    """Today's option that a name is, or is an unambiguous prefix of; empty for another name."""
    found = find_candidates(name)
    return found[0] if len(found) == 1 else ""


def find_candidates(name: str) -> list[str]:
    """Today's options that a name may be: argparse takes prefixes."""
    return [name] if name in TODAY else sorted(each for each in TODAY if name and each.startswith(name))


@dataclass(frozen=True, slots=True)
class ScriptRead:
    """What was found in a shell script: its problems with their lines, and how many commands start the launcher."""

    problems: tuple[Problem, ...]
    launches: int


def check_script(text: str) -> ScriptRead:
    """The problems of the launcher's commands in a shell script. A script is not run, and nothing is said of what it
    only computes."""
    problems: list[Problem] = []
    launches = 0
    try:
        for command in read_script(text):
            has_master = "PADDLE_MASTER" in command.variables
            launch = find_paddle_launch(command.words)
            if launch is None:
                continue
            launches += 1
            for each in explain_launch(launch, has_master=has_master):
                problem = told("", each.said, severity=each.severity)
                problems.append(replace(problem, line=command.line, column=1))
    except OpenQuote as error:
        problem = told("", phrase("a quote is not closed: the shell reads to the end of the file"))
        problems.append(replace(problem, line=error.line, column=1))
    return ScriptRead(tuple(problems), launches)


def check_old_flags(parts: Sequence[Part], kind: str) -> Iterator[Problem]:
    """The problems of the commands of a PaddleJob."""
    for part in parts if kind == "PaddleJob" else ():
        containers = part.containers()
        trains = next((each for each in containers if each.name == "paddle"), containers[0] if containers else None)
        if trains is None:
            continue
        key = "command" if trains.value.get("command") else "args"
        for words in read_commands(trains.value):
            launch = find_paddle_launch(words)
            found = list(explain_launch(launch, has_master=_has_master(trains), in_job=True)) if launch else []
            if found:
                worst = "error" if any(each.severity == "error" for each in found) else "warning"
                yield told(f"{trains.path}.{key}", _join(found), severity=worst, about_key=True)
                break  # a place has one problem


def _join(found: Sequence[Told]) -> Phrase:
    joined = found[0].said
    for each in found[1:]:
        joined = phrase("{first}; {second}", first=joined, second=each.said)
    return joined


def _has_master(container: Container) -> bool:
    env: Any = container.value.get("env") or []
    return any(isinstance(each, Mapping) and each.get("name") == "PADDLE_MASTER" for each in env)


def explain_launch(launch: PaddleLaunch, *, has_master: bool = False, in_job: bool = False) -> Iterator[Told]:
    """What is wrong with a command line, the worst first. `has_master`: PADDLE_MASTER is set. `in_job`: it is the
    command of a job, where Paddock tells each rank where the others are."""
    is_placed = has_master or "master" in launch.options
    if _GONE.fullmatch(launch.module):
        said = phrase(
            "there is no {module} since PaddlePaddle 2.3: it ends with exit code 1; write python -m "
            "paddle.distributed.launch",
            module=launch.module,
        )
        yield Told(said, "error")
        return
    if stray := launch.stray or _find_stray(launch, is_placed=is_placed):
        yield _explain_stray(launch, stray)
        return
    if not is_placed and launch.starts_old:
        yield from (Told(said, "error") for said in _explain_asserted(launch))
    yield from _explain_refused(launch, is_placed=is_placed)
    yield from _explain_servers(launch, is_placed=is_placed)
    yield from _explain_placed(launch, is_placed=is_placed, in_job=in_job)
    for name, value in launch.options.items():
        if not find_candidates(name) and name not in _TOLD_APART:
            yield Told(_explain_ignored(name, value or "", is_placed=is_placed))
    yield from _explain_values(launch)
    if launch.module == _OLD_MODULE:
        yield Told(phrase("{module} is the old launcher: write paddle.distributed.launch", module=launch.module))


_PLACING = frozenset({"cluster_node_ips", "node_ip", "started_port"})
_REFUSED = frozenset({"np"})
_HETER = frozenset({"heter_workers", "heter_worker_num", "heter_devices"})
OLD_DEVICES = frozenset({"selected_gpus", "selected_npus", "selected_xpus", "dcus"})
DEVICES = frozenset({"devices", "gpus", "npus", "xpus"})
"""The options that name devices: of other years, and today's, which are one."""
_DROPPED = frozenset({"use_paddlecloud", "print_config", "worker_endpoints", "endpoints"})
_SERVERS = ("servers", "trainers", "server_num", "trainer_num")
_WORKERS = {"workers": "trainers", "worker_num": "trainer_num"}
_OF_SERVERS = _HETER | {"server_num", "servers", "worker_num", "workers", "trainer_num", "trainers"}
_TOLD_APART = _PLACING | _REFUSED | _HETER | frozenset(_WORKERS)
"""Options that have sentences of their own."""


def _explain_stray(launch: PaddleLaunch, name: str) -> Told:
    value = launch.value(name)
    said = phrase(
        "the launcher does not know --{name} and takes {value} for the program: it ends with exit code 1; write "
        "{advice}",
        name=name, value=value, advice=_advise(name, value),
    )  # fmt: skip
    return Told(said, "error")


def _find_stray(launch: PaddleLaunch, *, is_placed: bool) -> str:
    """The option whose value, behind a space, is the program for the launcher that runs; empty without one, and where
    the value is known to the shell alone."""
    known = TODAY if is_placed or not launch.starts_old else OF_OLD
    return next((name for name in launch.spaced if name not in known and not _is_unknown(launch.value(name))), "")


def _is_unknown(text: str) -> bool:
    """Whether a shell or Kubernetes puts something else in its place."""
    return "$" in text or "`" in text


def _explain_asserted(launch: PaddleLaunch) -> Iterator[Phrase]:
    """Why the old launcher ends with exit code 1 before it starts a program: what it asserts of servers and heter ranks
    (fleet/launch_utils.py, ParameterServerLauncher)."""
    given = {name for name, value in launch.options.items() if value not in (None, "", "0")}
    # `$ARGUMENTS` in the place of the program may hold the options that are missing.
    if not given & _OF_SERVERS or any(map(_is_unknown, launch.rest[:1])):
        return
    ends = phrase("the old launcher ends with an AssertionError")
    if launch.value("run_mode") == "collective":
        yield phrase("{ends}: --run_mode collective has no servers; leave it out", ends=ends)
    if not given & {"server_num", "servers"}:
        yield phrase("{ends}: name the servers by --server_num or --servers", ends=ends)
    if not given & {"worker_num", "workers"}:
        yield phrase("{ends}: name the workers by --worker_num or --workers, it knows no --trainer_num", ends=ends)
    count, servers = launch.value("server_num"), launch.value("servers")
    if _WHOLE.fullmatch(count) and servers and not _is_unknown(servers) and len(servers.split(",")) != int(count):
        yield phrase("{ends}: --server_num is {count}, and --servers names {named}", ends=ends,
                     count=count, named=len(servers.split(",")))  # fmt: skip
    heter = given & {"heter_workers", "heter_worker_num"}
    if "heter_devices" in given and not heter:
        yield phrase("{ends}: name the heter ranks by --heter_worker_num", ends=ends)
    stages = max((launch.value(name).count(";") + 1 for name in heter), default=0)
    devices = launch.value("heter_devices").count(";") + 1
    if "heter_devices" in given and stages > devices and not _is_unknown(launch.value("heter_devices")):
        yield phrase(
            'the old launcher ends with a KeyError: there are {stages} stages of heter ranks, and --heter_devices has '
            '{devices}; write one for each, as in "cpu;cpu"',
            stages=stages, devices=devices,
        )  # fmt: skip


def _explain_refused(launch: PaddleLaunch, *, is_placed: bool) -> Iterator[Told]:
    if "np" in launch.options:
        said = phrase(
            "--np is refused with exit code 2 (it could be --nproc_per_node or --npus): write --nnodes {value}",
            value=launch.value("np"),
        )
        yield Told(said, "error")
    for name in launch.options:
        found = find_candidates(name)
        if len(found) > 1 and name != "np":
            said = phrase("--{name} is refused with exit code 2: it could be {names}", name=name,
                          names=tuple(f"--{each}" for each in found))  # fmt: skip
            yield Told(said, "error")
    if "http_port" in launch.options and not is_placed and not {*_SERVERS, *_WORKERS}.intersection(launch.options):
        said = phrase(
            "--http_port without --servers ends with an AssertionError: leave it out, or write --gloo_port {value}",
            value=launch.value("http_port"),
        )
        yield Told(said, "error")
    heter = sorted(name for name in launch.options if name in _HETER)
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


def _explain_placed(launch: PaddleLaunch, *, is_placed: bool, in_job: bool) -> Iterator[Told]:
    """The options of 2019 by which nodes found each other."""
    used = [name for name in launch.options if name in _PLACING]
    if not used:
        return
    advice = phrase("leave them out: Paddock tells each rank where the others are") if in_job else _place(launch)
    if is_placed:
        said = phrase(
            "{options} are ignored, as the launcher has a master: {advice}", options=_name(used), advice=advice
        )
        yield Told(said)
        return
    said = phrase(
        "{options} are ignored: each machine trains alone, as a job of one machine, and ends with exit code 0; "
        "{advice}",
        options=_name(used), advice=advice,
    )  # fmt: skip
    yield Told(said)


def _place(launch: PaddleLaunch) -> Phrase:
    """Today's options, from the values of the old ones."""
    nodes = [each for each in launch.value("cluster_node_ips").split(",") if each]
    own, port = launch.value("node_ip"), launch.value("started_port") or "6170"
    if not nodes:
        return phrase("write --master IP:{port} --nnodes N --rank R", port=port)
    rank = str(nodes.index(own)) if own in nodes else "R"
    return phrase(
        "write --master {first}:{port} --nnodes {count} --rank {rank}",
        first=nodes[0], port=port, count=str(len(nodes)), rank=rank,
    )  # fmt: skip


def _advise(name: str, value: str) -> str:
    """Today's option for an old one, as it is typed."""
    if name in OLD_DEVICES:
        return f"--devices {value}"
    renamed = {
        "http_port": "--gloo_port",
        "elastic_server": "--master", "scale": "--nnodes",
    }.get(name)  # fmt: skip
    if name == "elastic_server":
        return f"--master etcd://{value.removeprefix('etcd://')}"
    return f"{renamed} {value}" if renamed else f"--{name}={value}"


def _explain_ignored(name: str, value: str, *, is_placed: bool) -> Phrase:
    option = f"--{name}={value}" if value else f"--{name}"
    if name in OLD_DEVICES:
        if is_placed:
            return phrase("{option} is ignored, and all devices are used: write {advice}", option=option,
                          advice=_advise(name, value))  # fmt: skip
        return phrase(
            "{option} makes it the old launcher, which takes it for --gpus, and with a wheel for CPUs ignores it and "
            "starts one process: write {advice}",
            option=option, advice=_advise(name, value),
        )  # fmt: skip
    if name in _DROPPED:
        return phrase("{option} does nothing: leave it out", option=option)
    if _advise(name, value) != f"--{name}={value}":
        if is_placed:
            return phrase("{option} is ignored, as the launcher has a master: write {advice}", option=option,
                          advice=_advise(name, value))  # fmt: skip
        return phrase("{option} makes it the old launcher: write {advice}", option=option, advice=_advise(name, value))
    if is_placed:
        return phrase("{option} is ignored: no launcher of today knows it; leave it out", option=option)
    return phrase(
        "{option} makes it the old launcher (paddle.distributed.fleet.launch), as today's does not know it: leave it "
        "out",
        option=option,
    )


def _explain_servers(launch: PaddleLaunch, *, is_placed: bool) -> Iterator[Told]:
    """Parameter servers by the launcher: the old one ends them with its own workers, today's never does."""
    old = sorted(name for name in _WORKERS if name in launch.options)
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
    serving = [name for name in _SERVERS if name in launch.options]
    if serving and not old and launch.module != _OLD_MODULE:
        said = phrase(
            "{options}: parameter servers that the launcher starts never end, and it waits for them; a job with the "
            "roles ps and worker ends them",
            options=_name(serving),
        )
        yield Told(said)


def _name(options: Sequence[str]) -> Names:
    return Names(tuple(f"--{each}" for each in options))


def _explain_values(launch: PaddleLaunch) -> Iterator[Told]:
    """Today's options with values that do something else than they say."""
    several = launch.value("nnodes") not in ("", "1")
    if several and "master" in launch.options and not _MASTER.fullmatch(launch.value("master")):
        said = phrase(
            "--master {value} ends with a ValueError: it is ADDRESS:PORT, or etcd://ADDRESS:PORT",
            value=launch.value("master"),
        )
        yield Told(said, "error")
    if launch.value("nnodes") == "0":
        yield Told(phrase("--nnodes 0 trains alone, and ends with exit code 0: write how many machines there are"))
    mode = launch.value("run_mode")
    if mode and mode not in ("collective", "ps"):
        yield Told(phrase("--run_mode {mode} becomes collective: collective and ps are the modes", mode=mode))
    if launch.value("legacy").lower() in ("true", "1", "yes"):
        said = phrase("--legacy {value} starts the old launcher, which takes {value} for the program: leave it out",
                      value=launch.value("legacy"))  # fmt: skip
        yield Told(said, "error")
    hosts = [each for each in launch.value("ips").split(",") if each]
    if len(hosts) > 1 and any(each.startswith("127.") for each in hosts):
        said = phrase("--ips with 127.0.0.1 among several ends with a ValueError: write the machines' own addresses")
        yield Told(said, "error")
    elif any(not _ADDRESS.fullmatch(each) for each in hosts):
        said = phrase("--ips reads addresses alone: with names every machine is rank 0, and trains alone; write "
                      "--master IP:PORT --nnodes {count} --rank R", count=str(len(hosts)))  # fmt: skip
        yield Told(said)

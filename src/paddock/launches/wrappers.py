"""Programs that run the command behind them, as tables: what stands between a wrapper and that command.

Sources: the manuals of GNU coreutils 9.7, util-linux 2.41, numactl 2.0, OpenSSH 10, Docker 28, Podman 5, kubectl 1.34,
conda 25, uv 0.9, Poetry 2, PDM 2, coverage 7, Nsight Systems 2025.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WrapperSpec:
    """One program."""

    name: str
    verbs: tuple[str, ...] = ()
    """Words of which one stands behind it: `run`, `exec`."""
    values: frozenset[str] = frozenset()
    """Options whose value is the next word. All others are flags, or have it behind `=`."""
    operands: int = 0
    """Words before the command: the seconds of timeout, the host of ssh."""
    assigns: bool = False
    """Whether `NAME=value` before the command sets variables."""
    as_text: bool = False
    """Whether the words are joined and read by another shell."""
    as_python: bool = False
    """Whether the command is what follows `python`: a file, or `-m` and a module."""
    runs_files: bool = False
    """Whether a Python file may stand in the place of a program."""
    text_options: frozenset[str] = frozenset()
    """Options behind which a text for a shell follows: `flock FILE -c TEXT`, `env -S TEXT`."""
    asks: frozenset[str] = frozenset()
    """Options with which nothing is run: `command -v torchrun`."""
    elsewhere: bool = False
    """Whether it runs on another machine or in a container."""
    image: bool = False
    """Whether its operand is an image."""
    manages: bool = False
    """Whether the command runs in an environment of its own, with the packages that this program keeps."""


def _spec(name: str, values: str = "", verbs: tuple[str, ...] = (), **kinds: Any) -> WrapperSpec:
    return WrapperSpec(name, verbs, frozenset(values.split()), **kinds)


_RUN = ("run",)
_DOCKER_RUN = (
    "-a --attach --add-host --annotation --blkio-weight --cap-add --cap-drop --cgroup-parent --cgroupns --cidfile "
    "--cpus --cpuset-cpus --cpuset-mems -c --cpu-shares --cpu-period --cpu-quota --device --device-cgroup-rule "
    "--dns --dns-option --dns-search --domainname --entrypoint -e --env --env-file --expose --gpus --group-add "
    "--health-cmd -h --hostname --ip --ip6 --ipc --isolation --kernel-memory -l --label --label-file --link "
    "--log-driver --log-opt --mac-address -m --memory --memory-reservation --memory-swap --mount --name --network "
    "--net --network-alias --oom-score-adj --pid --pids-limit --platform -p --publish --pull --restart --runtime "
    "--security-opt --shm-size --stop-signal --stop-timeout --storage-opt --sysctl --tmpfs --ulimit -u --user "
    "--userns --uts -v --volume --volume-driver --volumes-from -w --workdir"
)
_EXEC = "-e --env --env-file -u --user -w --workdir --detach-keys"
_KUBECTL = "-c --container -n --namespace --context --kubeconfig -f --filename --pod-running-timeout"
_UV = (
    "--with --with-editable --with-requirements -p --python --extra --group --env-file --package --project --directory "
    "--index --default-index -i --index-url --extra-index-url --cache-dir --config-file --only-group --no-group"
)
_CONDA = "-n --name -p --prefix --cwd"
SPECS = (
    _spec("numactl", "-N --cpunodebind -C --physcpubind -m --membind -i --interleave -p --preferred"),
    _spec("sudo", "-u --user -g --group -C -h --host -p --prompt -D --chdir -T -U -R", assigns=True),
    _spec("env", "-u --unset -C --chdir", assigns=True, text_options=frozenset({"-S", "--split-string"})),
    _spec("timeout", "-s --signal -k --kill-after", operands=1),
    _spec("time", "-f --format -o --output"),
    _spec("nice", "-n --adjustment"),
    _spec("ionice", "-c --class -n --classdata"),
    _spec("chrt", operands=1),
    _spec("taskset", operands=1),
    _spec("stdbuf", "-i -o -e --input --output --error"),
    _spec("prlimit"),
    _spec("flock", "-w --timeout -E", operands=1, text_options=frozenset({"-c", "--command"})),
    _spec("setarch", operands=1),
    _spec("unshare"),
    _spec("xvfb-run", "-n -s -e -f -p -w --server-args"),
    _spec("gosu", operands=1),
    _spec("su", "-s --shell -g --group -G", operands=1, text_options=frozenset({"-c", "--command"})),
    _spec("tmux", "-s -n -c -x -y -t -e -F", ("new-session", "new", "new-window", "neww"), as_text=True),
    _spec("screen", "-S -dmS -DmS -t -c -s -h -e -T"),
    _spec("xargs", "-I -n -P -L -d -E -s -a --max-args --max-procs --max-lines --delimiter --arg-file --replace"),
    _spec("parallel", "-j --jobs --joblog --results --colsep -S --sshlogin --timeout --retries --delay", as_text=True),
    _spec("jsrun", "-n --nrs -a --tasks_per_rs -c --cpu_per_rs -g --gpu_per_rs -r --rs_per_host -b --bind -d -E -p"),
    _spec("ray", "--address --working-dir --runtime-env --runtime-env-json --submission-id --entrypoint-num-cpus "
          "--entrypoint-num-gpus --metadata-json --log-style --headers --verify", ("job",), operands=1, elsewhere=True),
    _spec("su-exec", operands=1),
    _spec("exec", "-a"),
    _spec("command", asks=frozenset({"-v", "-V"})),
    *(_spec(name) for name in ("nohup", "builtin", "setsid", "caffeinate", "catchsegv", "tini",
                               "dumb-init", "ddtrace-run", "opentelemetry-instrument", "unbuffer", "chronic")),
    _spec("strace", "-e -o -p -s -u -E -P -a -O -S"),
    _spec("ltrace", "-e -o -p -s"),
    _spec("valgrind"),
    _spec("ncu", "-o --export -k --kernel-name --section --set --metrics -c --launch-count -s --launch-skip"),
    _spec("gdb", "-ex -x -iex"),
    _spec("perf", "-o --output -e --event -F --freq -p --pid --call-graph", ("record", "stat")),
    _spec("nsys", "-o --output -t --trace -s --sample -c --capture-range -d --duration -y --delay -w --show-output -f "
          "--force-overwrite -e --env-var -x --stop-on-exit", ("profile", "launch")),
    _spec("py-spy", "-o --output -r --rate -f --format -d --duration", ("record", "top")),
    _spec("dvc", verbs=("repro",)),
    _spec(
        "ssh", "-p -i -o -l -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w", operands=1, as_text=True, elsewhere=True
    ),
    *(_spec(name, _DOCKER_RUN, _RUN, operands=1, elsewhere=True, image=True)
      for name in ("docker", "podman", "nerdctl", "nvidia-docker")),
    *(_spec(name, _EXEC, ("exec",), operands=1, elsewhere=True)
      for name in ("docker", "podman", "nerdctl", "nvidia-docker")),
    _spec("kubectl", _KUBECTL, ("exec",), operands=1, elsewhere=True),
    *(_spec(name, "-B --bind --env --pwd -H --home --overlay", ("exec", "run"), operands=1, elsewhere=True)
      for name in ("singularity", "apptainer")),
    *(_spec(name, _CONDA, _RUN, manages=True) for name in ("conda", "mamba", "micromamba")),
    _spec("uv", _UV, _RUN, runs_files=True, manages=True),
    _spec("poetry", "-C --directory -P --project", _RUN, manages=True),
    _spec("pdm", "-p --project -g", _RUN, runs_files=True, manages=True),
    *(_spec(name, verbs=_RUN, manages=True) for name in ("pipenv", "hatch", "rye")),
    _spec("pixi", "-e --environment --manifest-path", _RUN, manages=True),
    _spec("coverage", "--source --include --omit --rcfile --data-file --context", _RUN,
                as_python=True),
    _spec("memray", "-o --output", _RUN, as_python=True),
    *(_spec(name, "-o --output --output_file --outfile -r --renderer", as_python=True)
      for name in ("viztracer", "scalene", "kernprof", "ipython", "pyinstrument", "debugpy-run")),
)  # fmt: skip
"""A name may stand several times, each with other verbs."""

MODULES: Mapping[str, WrapperSpec] = {
    "cProfile": _spec("cProfile", "-o --outfile -s --sort", as_python=True),
    "profile": _spec("profile", "-o --outfile -s --sort", as_python=True),
    "pdb": _spec("pdb", "-c --command", as_python=True),
    "trace": _spec("trace", "-C --coverdir --ignore-module --ignore-dir", as_python=True),
    "debugpy": _spec("debugpy", "--listen --connect --configure-subProcess --log-to", as_python=True),
    "coverage": next(each for each in SPECS if each.name == "coverage"),
    "memray": next(each for each in SPECS if each.name == "memray"),
    "viztracer": next(each for each in SPECS if each.name == "viztracer"),
    "scalene": next(each for each in SPECS if each.name == "scalene"),
}
"""Modules of `python -m` that run the program behind them."""

BY_NAME: Mapping[str, tuple[WrapperSpec, ...]] = {
    name: tuple(each for each in SPECS if each.name == name) for name in dict.fromkeys(each.name for each in SPECS)
}

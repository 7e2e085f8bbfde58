"""A script of one's own: `paddock run -- python FILE` against the bare script, what is printed of it, and large logs.

The program is the machine's own python3 on both sides, as the image `python:3` stands for the programs of this machine.
The share of lines counts what a terminal would show: standard output and standard error together. What the two programs
print themselves is known: `Wide & Deep` by its forms, the all_reduce by a word at the head of each line.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.clusters import PADDOCK, Cluster, open_directory
from benchmarks.figures import Figure, alternate, seconds, timed

MORE, GET = 0.3, 0.2
"""Seconds: what `paddock run` may take longer than the script, and what a cold `paddock get` may take."""
MEGABYTES = 100
_ON_HOST = ("run", "--image", "python:3")

_NOTHING = "pass\n"
_CHATTY = f"""
import sys

line = "x" * 99 + "\\n"
for _ in range({MEGABYTES * 10}):
    sys.stdout.write(line * 1000)
"""
_ALL_REDUCE = """
import paddle
import paddle.distributed as dist

dist.init_parallel_env()
total = paddle.to_tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
print("mine: rank", dist.get_rank(), "of", dist.get_world_size(), flush=True)
print("mine: the sum is", float(total), flush=True)
"""
_DEMO = Path(__file__).parents[1] / "examples/documents/wide_and_deep.yaml"
_OF_THE_DEMO = re.compile(r"epoch \d+  step|(server|worker) \d+ of \d+ (serves|waits)|resume after|AUC")


def measure() -> Sequence[Figure]:
    with open_directory() as cluster:
        cluster.paddock("up")
        return (_compare(cluster), *_share(cluster), *_large(cluster), *_cold(cluster))


def _write(cluster: Cluster, name: str, text: str) -> Path:
    path = cluster.directory / name
    path.write_text(text)
    return path


def _compare(cluster: Cluster) -> Figure:
    script = _write(cluster, "noop.py", _NOTHING)
    command = (shutil.which("python3") or sys.executable, str(script))

    def ours() -> float:
        return timed(lambda: cluster.paddock(*_ON_HOST, "--workdir", str(cluster.directory), "--", *command))

    pair = alternate(ours, lambda: timed(lambda: subprocess.run(command, check=True)), 7)
    return Figure(
        "`paddock run -- python3 noop.py`, one worker; cluster up",
        seconds(pair.ours),
        f"`python3 noop.py` {seconds(pair.plain)}",
        f"{pair.more:+.2f} s, {pair.ratio:.1f} times",
        f"{MORE} s more",
        pair.more <= MORE,
    )


def _share(cluster: Cluster) -> Sequence[Figure]:
    script = _write(cluster, "all_reduce.py", _ALL_REDUCE)
    directory = ("--workdir", str(cluster.directory))
    reduce = ("--workers", "2", *directory, "--", "python", str(script))
    of_reduce = re.compile(r"(worker-\d+ +│ )?mine: ")
    programs: Sequence[tuple[str, tuple[str, ...], re.Pattern[str]]] = (
        ("an all_reduce of 2 workers", reduce, of_reduce),
        ("Wide & Deep, the documents' demo", (str(_DEMO),), _OF_THE_DEMO),
    )
    return [_count(cluster, *program, raw=raw) for program in programs for raw in (False, True)]


def _count(cluster: Cluster, what: str, words: tuple[str, ...], own: re.Pattern[str], *, raw: bool) -> Figure:
    options = ("run", *(("--raw",) if raw else ()))
    lines = [line for line in cluster.show(*options, *words).splitlines() if line.strip()]
    mine = sum(bool(own.search(line)) for line in lines)
    shown = "`--raw`" if raw else "as printed"
    return Figure(
        f"{what}, {shown}: lines of the program", f"{mine} of {len(lines)}", "", f"{mine / len(lines):.0%}", "told"
    )


def _large(cluster: Cluster) -> Sequence[Figure]:
    script = _write(cluster, "chatty.py", _CHATTY)
    command = (shutil.which("python3") or sys.executable, str(script))
    words = (*_ON_HOST, "--workdir", str(cluster.directory), "--", *command)

    def to_file(command: Sequence[str]) -> float:
        with (cluster.directory / "printed").open("wb") as out:
            return timed(lambda: subprocess.run(command, check=True, env=cluster.environment, stdout=out, stderr=out))

    pair = alternate(lambda: to_file((*PADDOCK, *words)), lambda: to_file(command), 3, warm_up=0)
    logs = [to_file((*PADDOCK, "logs", "chatty")) for _ in range(3)]
    size = (cluster.directory / "printed").stat().st_size / 1e6
    rate: Callable[[Sequence[float]], str] = lambda times: f"{MEGABYTES / statistics.median(times):.0f} MB/s"  # noqa: E731
    return (
        Figure(
            f"`paddock run` of a script that prints {MEGABYTES} MB, into a file",
            seconds(pair.ours),
            f"the script {seconds(pair.plain)}",
            f"{pair.more:+.1f} s, {rate(pair.ours)}",
            "told",
        ),
        Figure(f"`paddock logs` of it, {size:.0f} MB", seconds(logs), "", rate(logs), "told"),
    )


def _cold(cluster: Cluster) -> Sequence[Figure]:
    def plain() -> float:
        return timed(lambda: subprocess.run((sys.executable, "-c", "pass"), check=True))

    get = alternate(lambda: timed(lambda: cluster.paddock("get")), plain, 9)
    told = alternate(lambda: timed(lambda: cluster.paddock("--help")), plain, 9)
    bare = f"`python -c pass` {seconds(get.plain)}"
    kept = statistics.median(get.ours) <= GET
    return (
        Figure("`paddock get`, cold", seconds(get.ours), bare, f"{get.ratio:.0f} times", f"{GET} s", kept),
        Figure("`paddock --help`", seconds(told.ours), bare, f"{told.ratio:.0f} times", "told"),
    )

"""Standard output that nobody reads any more, that cannot be written, or that is closed: the job goes on, and the exit
code says what became of it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.commands import PADDOCK, Cluster, Ended
from e2e.manifests import build_light_job

_FULL = Path("/dev/full")
_MANY = "i=0; while [ $i -lt 30000 ]; do echo $i; i=$((i+1)); done"


def shell(cluster: Cluster, typed: str) -> Ended:
    """What a user types; `paddock` is this one. Its own exit code, not that of `head`."""
    paddock = shlex.join(PADDOCK)
    script = f'set -o pipefail; paddock() {{ {paddock} "$@"; }}; {typed}'
    ended = subprocess.run(
        ["bash", "-c", script], env=cluster.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=180, check=False,
    )  # fmt: skip
    return Ended(ended.returncode, ended.stdout, ended.stderr)


@pytest.mark.slow
def test_a_reader_that_has_gone_costs_nothing(shared: Cluster) -> None:
    completes, fails = (
        shlex.quote(shared.write(build_light_job(name, f"{_MANY}; exit {code}")))
        for name, code in (("heard-not", 0), ("heard-failing", 3))
    )
    completed = shell(shared, f"paddock run {completes} | head -1")
    assert (completed.code, completed.out) == (0, "0\n"), str(completed)
    assert completed.said[-2].startswith("Completed in "), str(completed)
    failed = shell(shared, f"paddock run {fails} 2>&1 | head -1")
    assert (failed.code, failed.err) == (1, ""), "as the job"
    for typed in ("logs heard-not", "logs heard-not -f", "logs heard-not -o json", "get", "history", "get -o json"):
        ended = shell(shared, f"paddock {typed} | head -1")
        assert (ended.code, ended.err, len(ended.lines)) == (0, "", 1), f"{typed}: {ended}"


@pytest.mark.slow
def test_a_verb_that_acts_does_so_to_its_end_though_nobody_reads(cluster: Cluster) -> None:
    """The first command starts the cluster, and says so."""
    light, bad = build_light_job("unheard", "exit 0"), build_light_job("bad", "exit 3")
    cold = shell(cluster, f"paddock run {shlex.quote(cluster.write(light))} 2>&1 | true")
    assert cold.code == 0 and cluster.phase("unheard") == "Completed", str(cold)
    full = shell(cluster, f"paddock run {shlex.quote(cluster.write(bad))} 2>/dev/full")
    assert full.code == 1 and cluster.phase("bad") == "Failed", str(full)
    assert shell(cluster, "paddock wait bad | true").code == 1
    assert shell(cluster, "paddock delete unheard bad | true") == Ended(0, "", "")
    assert shell(cluster, "paddock get -o name") == Ended(0, "", "")


@pytest.mark.slow
def test_an_exit_code_does_not_depend_on_who_reads(shared: Cluster) -> None:
    wrong = shared.directory / "many-wrong.yaml"
    wrong.write_text("---\n".join("apiVersion: batch.paddlepaddle.org/v1\nkind: PaddleJob\n" for _ in range(400)))
    file = shlex.quote(str(wrong))
    for typed, code in (
        (f"validate {file}", 1),
        (f"validate {file} -o json", 1),
        ("describe nobody 2>&1", 2),
        ("no-such-verb 2>&1", 2),
        ("--help", 0),
        ("get --help", 0),
        ("--version", 0),
    ):
        assert shell(shared, f"paddock {typed} | true").code == code, typed
        if _FULL.exists() and code == 2:
            assert shell(shared, f"paddock {typed.partition(' 2>')[0]} 2>/dev/full").code == 2, typed


@pytest.mark.slow
def test_a_python_call_goes_on_though_nobody_reads(shared: Cluster) -> None:
    (shared.directory / "spoken.py").write_text(
        "for number in range(100): print(number)\nopen('spoken', 'w').close()\n"
    )
    program = shared.directory / "calls.py"
    program.write_text(
        "import paddock, sys\nsys.exit(0 if paddock.run('spoken.py', image='python:3').succeeded else 5)\n"
    )
    ended = shell(shared, f"cd {shlex.quote(str(shared.directory))}; {sys.executable} {program} | true")
    assert (ended.code, ended.err) == (0, ""), str(ended)
    assert (shared.directory / "spoken").exists()


@pytest.mark.slow
@pytest.mark.skipif(not _FULL.exists(), reason="there is no /dev/full")
def test_a_full_disk_is_named_and_no_bug(shared: Cluster) -> None:
    job = shlex.quote(shared.write(build_light_job("unprinted", "echo here")))
    ended = shell(shared, f"paddock run {job} >/dev/full")
    assert ended.code == 0, str(ended)
    assert "standard output takes no more (No space left on device): the logs keep all" in ended.said, str(ended)
    assert ended.said[-2].startswith("Completed in "), str(ended)
    for typed in ("get", "logs unprinted", "logs unprinted -f"):
        ended = shell(shared, f"paddock {typed} >/dev/full")
        assert ended.code == 1 and ended.said[-1].startswith("No space left on device: standard output"), str(ended)
        assert "a bug of Paddock" not in ended.err


@pytest.mark.slow
def test_a_closed_output_takes_all(shared: Cluster) -> None:
    job = shlex.quote(shared.write(build_light_job("silent", "echo here")))
    ended = shell(shared, f"paddock run {job} >&-")
    assert ended.code == 0 and ended.said[-2].startswith("Completed in "), str(ended)
    assert shell(shared, "paddock get >&-") == Ended(0, "", "")
    assert shell(shared, "paddock logs silent 2>&-").out == "here\n"

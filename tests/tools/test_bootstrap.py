"""The set-up of .venv: what it chooses, what it says, and that two at once do the work once.

`pip_outputs.txt` is what pip 22.3 and 26.3 really wrote with `-vv`, less the lines that say nothing here. The whole
set-up, on a bare machine, is run by CI (tools/fresh/machine).
"""

from __future__ import annotations

import ast
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from bootstrap import DEV, READY, check_space, is_done, read_key, read_version
from bootstrap_failures import Machine, explain_pip
from bootstrap_pip import Progress, find_proxy, is_connected
from bootstrap_python import Missing, Python, choose_python, plan_venv

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "tools").glob("bootstrap*.py"))
HERE = Machine("proxy.example:3128", "HTTPS_PROXY", True, "Python 3.13 on ppc64le (glibc 2.36)")


def _read_outputs() -> dict[str, str]:
    text = (Path(__file__).parent / "pip_outputs.txt").read_text(encoding="utf-8")
    parts = re.split(r"^=== (.*)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


OUTPUTS = _read_outputs()

SENTENCES = {
    "proxy refuses": "the proxy proxy.example:3128 (HTTPS_PROXY) cannot be reached: correct or unset HTTPS_PROXY",
    "proxy 407": "the proxy proxy.example:3128 (HTTPS_PROXY) answers 407 Proxy Authentication Required: give",
    "dns": "the name nowhere.invalid cannot be resolved: check the network and DNS (/etc/resolv.conf)",
    "no network": "the name pypi.org cannot be resolved: check the network",
    "certificate": "the certificate of pypi.org is not trusted here: set PIP_CERT",
    "refused": "127.0.0.1:9 cannot be reached: check the network",
    "silent": "127.0.0.1:8777 does not answer: check the network",
    "html": "127.0.0.1:8765 answers, but not as a package index: if this network asks for a login",
    "text": "127.0.0.1:8765 answers, but not as a package index: if this network asks for a login",
    "401": "the package index 127.0.0.1:8765 refuses access (401): check the user and password",
    "403": "the package index 127.0.0.1:8765 refuses access (403): check the user and password",
    "404": "127.0.0.1:8765 knows no package there (404): PIP_INDEX_URL names a wrong path",
    "503": "the package index 127.0.0.1:8765 has an error of its own (503): try again later",
    "hashes": "the file of iniconfig 2.3.1 from files.pythonhosted.org is not the one that requirements*.lock names",
    "version": "the package index pypi.org has no iniconfig 99.3.1 (its latest is 2.3.1): it is a mirror",
    "space": "the disk is full: free some space",
    "platform": "msgspec 0.22.0 has no wheel for Python 3.13 on ppc64le (glibc 2.36): Paddock runs on Linux on x86-64",
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_what_pip_said_is_one_sentence(case: str) -> None:
    sentence = explain_pip(OUTPUTS[case], HERE).sentence
    assert sentence.startswith(SENTENCES[case.split(": ")[1]])
    assert "\n" not in sentence
    assert "://" not in sentence


def test_every_sentence_has_an_output() -> None:
    assert {case.split(": ")[1] for case in OUTPUTS} == set(SENTENCES)


@pytest.mark.parametrize("case", [case for case in OUTPUTS if case.endswith(("no network", "dns"))])
def test_without_a_route_it_is_the_network_that_is_missing(case: str) -> None:
    failure = explain_pip(OUTPUTS[case], HERE._replace(connected=False))
    assert failure.sentence == "this machine has no network: connect it, then try again"
    assert not failure.passing


@pytest.mark.parametrize(
    ("case", "passing"),
    [("dns", True), ("silent", True), ("503", True), ("401", False), ("certificate", False), ("hashes", False)],
)
def test_only_what_may_pass_is_tried_again(case: str, passing: bool) -> None:
    assert explain_pip(OUTPUTS[f"pip 26.3: {case}"], HERE).passing is passing


def test_few_words_of_pip_are_no_verdict() -> None:
    """Without -vv, a network that is down and a version that is missing read alike."""
    output = "ERROR: Could not find a version that satisfies the requirement uv==0.13.8 (from versions: none)\n"
    assert explain_pip(output, HERE).passing


def test_an_unknown_failure_shows_pips_last_error_and_no_password() -> None:
    output = "Collecting x\nERROR: it broke at https://me:secret@index.example/simple/x/?token=1\nbye\n"
    assert explain_pip(output, HERE).sentence == (
        "pip failed (it broke at https://index.example): read the log, and try again"
    )


# -- which Python


def _fake_python(place: Path, name: str, version: tuple[int, ...], base: str = "", **has: object) -> None:
    path = place / name
    answer = json.dumps([base or str(path), version, has.get("pip", []), has.get("ensures_pip", True)])
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("there", "chosen"),
    [
        ({"python3": (3, 13, 1), "python3.12": (3, 12, 0)}, "python3"),
        ({"python3": (3, 10, 13), "python3.12": (3, 12, 0), "python3.11": (3, 11, 2)}, "python3.12"),
        ({"python3": (3, 15, 0), "python3.11": (3, 11, 2)}, "python3.11"),
        ({"python3.14": (3, 14, 0)}, "python3.14"),
    ],
)
def test_the_first_supported_python_is_taken(tmp_path: Path, there: dict[str, tuple[int, ...]], chosen: str) -> None:
    for name, version in there.items():
        _fake_python(tmp_path, name, version)
    assert choose_python("", str(tmp_path)).path == str(tmp_path / chosen)


def test_without_one_the_sentence_says_what_there_is_and_what_is_allowed(tmp_path: Path) -> None:
    _fake_python(tmp_path, "python3", (3, 10, 13))
    with pytest.raises(Missing, match=r"Python 3\.11 to 3\.14, and PATH has only Python 3\.10\.13 \(.*/python3\)"):
        choose_python("", str(tmp_path))


def test_a_python_that_does_not_run_is_none(tmp_path: Path) -> None:
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "python3").chmod(0o755)
    with pytest.raises(Missing, match="PATH has no Python"):
        choose_python("", str(tmp_path))


@pytest.mark.parametrize(("version", "says"), [((3, 10, 0), "name another one"), (None, "is no Python that runs")])
def test_a_named_python_is_taken_or_refused(tmp_path: Path, version: tuple[int, ...] | None, says: str) -> None:
    _fake_python(tmp_path, "python3", (3, 13, 0))
    if version:
        _fake_python(tmp_path, "mine", version)
    with pytest.raises(Missing, match=says):
        choose_python(str(tmp_path / "mine"), str(tmp_path))


def test_the_interpreter_behind_an_environment_is_taken_as_the_environment_may_be_emptied(tmp_path: Path) -> None:
    _fake_python(tmp_path, "python3", (3, 13, 0), base=sys.executable)
    assert choose_python("", str(tmp_path)).path == sys.executable


@pytest.mark.parametrize(
    ("pip", "ensures_pip", "uv", "way"),
    [((), True, None, "venv"), ((22, 3), False, None, "pip"), ((22, 2), False, "/uv", "uv"), ((), False, "/uv", "uv")],
)
def test_an_environment_is_made_with_what_there_is(
    pip: tuple[int, ...], ensures_pip: bool, uv: str | None, way: str
) -> None:
    assert plan_venv(Python("/python3", (3, 13, 0), pip, ensures_pip), uv) == way


def test_without_any_way_the_missing_package_is_named() -> None:
    with pytest.raises(
        Missing, match=r"Python 3\.13\.0 \(/python3\) lacks the modules that make \.venv .*: (run|inst)"
    ):
        plan_venv(Python("/python3", (3, 13, 0), (), False), None)


# -- whether all is done


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What the set-up reads of a clone, at a path that is not plain."""
    root = tmp_path / "my 飞桨 clone"
    (root / ".venv").mkdir(parents=True)
    for name in ("requirements.lock", "requirements-dev.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("kubernetes", "__pycache__"))
    names = Path("src/paddock/environments/distributions.py")
    (root / names).parent.mkdir(parents=True)
    shutil.copy(ROOT / names, root / names)
    return root


@pytest.mark.parametrize(
    ("changed", "ready", "dev"),
    [
        ("", True, True),
        ("pyproject.toml", False, True),
        ("requirements-dev.lock", True, False),
        ("requirements.lock", False, False),
    ],
)
def test_what_has_changed_is_done_again(clone: Path, changed: str, ready: bool, dev: bool) -> None:
    for part in (READY, DEV):
        (clone / ".venv" / part.stamp).write_text(read_key(part, clone, "3.13"))
    if changed:
        with (clone / changed).open("a") as file:
            file.write("# another\n")
    for name in ("pyproject.toml", "requirements.lock"):
        os.utime(clone / name)  # a file's age says nothing: git writes it at each checkout
    assert [is_done(part, clone, "3.13") for part in (READY, DEV)] == [ready, dev]


def test_another_python_or_another_place_is_another_environment(clone: Path) -> None:
    (clone / ".venv" / READY.stamp).write_text(read_key(READY, clone, "3.13"))
    assert not is_done(READY, clone, "3.14")
    assert not is_done(READY, clone, "")
    assert not is_done(READY, clone.rename(clone.with_name("moved")), "3.13")


def test_an_interpreter_that_has_gone_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to("/nowhere/python3")
    assert read_version(tmp_path) == ""


def test_a_small_disk_is_refused_with_both_numbers(tmp_path: Path) -> None:
    with pytest.raises(Missing, match=r"needs about 99999999999 MB in .*, and \d+ MB are free there"):
        check_space(tmp_path, 99999999999)


# -- what a failure knows of the machine


@pytest.mark.parametrize(
    ("environment", "listed", "proxy"),
    [
        ({}, "", ("", "")),
        ({"HTTPS_PROXY": "http://me:secret@proxy.example:3128/"}, "", ("proxy.example:3128", "HTTPS_PROXY")),
        ({"HTTPS_PROXY": "a:1"}, "global.proxy='http://b:2'\n", ("b:2", "proxy in pip's settings")),
        ({"PIP_PROXY": "c:3"}, "global.proxy='http://b:2'\n", ("c:3", "PIP_PROXY")),
    ],
)
def test_the_proxy_is_found_as_pip_finds_it(environment: dict[str, str], listed: str, proxy: tuple[str, str]) -> None:
    assert find_proxy(environment, listed) == proxy


@pytest.mark.parametrize(("interface", "connected"), [("lo", False), ("eth0", True)])
def test_a_way_out_is_a_route_of_another_interface_than_lo(tmp_path: Path, interface: str, connected: bool) -> None:
    (tmp_path / "route").write_text("Iface\tDestination\n")
    (tmp_path / "route6").write_text(f"{'0' * 32} 00 {'0' * 32} 00 {'0' * 32} ffffffff 1 0 0 {interface}\n")
    assert is_connected(str(tmp_path / "route"), str(tmp_path / "route6")) is connected


def test_progress_counts_packages_and_names_sizes() -> None:
    progress = Progress(33)
    for line in ("Collecting aiohttp==3.14.5 (from -r x)\n", "  Downloading aiohttp-3.whl (1.9 MB)\n"):
        progress.read(line)
    assert progress.text == "1 of 33 packages: aiohttp (1.9 MB)"
    progress.read("Installing collected packages: a, b, c\n")
    assert progress.text == "unpacking 3 packages"


# -- the program itself


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_any_python_from_3_7_on_can_read_it(program: Path) -> None:
    ast.parse(program.read_text(encoding="utf-8"), feature_version=(3, 7))


def _start(clone: Path, **environment: str) -> subprocess.Popen[str]:
    settings = {key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "SSL_"))}
    return subprocess.Popen(
        [sys.executable, "tools/bootstrap.py"],
        cwd=clone,
        env=settings | {"PIP_CONFIG_FILE": os.devnull, "HOME": "/nonexistent"} | environment,
        stderr=subprocess.PIPE,
        text=True,
    )


class _Portal(BaseHTTPRequestHandler):
    """What a hotel's network answers to everything."""

    def do_GET(self) -> None:
        page = b"<!DOCTYPE html><html><body><a href='/login'>Log in</a></body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def portal() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Portal) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
def test_a_page_that_is_no_index_ends_the_set_up_with_2(clone: Path, portal: str) -> None:
    process = _start(clone, PIP_INDEX_URL=f"http://me:secret@{portal}/simple")
    said = process.communicate(timeout=180)[1].splitlines()
    assert process.returncode == 2
    # on a busy machine the probe gives up after 3 s, and the installation's first try has too few words to say why
    whole = said[-1].replace(", after 2 tries", "")
    assert whole.startswith(f"{portal} answers, but not as a package index: if this network asks for a login")
    assert said[-1].endswith(f"{clone}/.venv/setup.log)")
    assert "secret" not in (clone / ".venv" / "setup.log").read_text()
    assert not (clone / ".venv" / READY.stamp).exists()


def test_the_second_of_two_waits_and_finds_all_done(clone: Path) -> None:
    (clone / ".venv" / "bin").mkdir()
    (clone / ".venv" / "bin" / "python").symlink_to(sys.executable)
    with (clone / ".venv" / ".lock").open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        second = _start(clone)
        assert second.stderr is not None
        assert second.stderr.readline() == "another set-up of .venv runs; this one waits for it\n"
        version = ".".join(map(str, sys.version_info[:2]))
        (clone / ".venv" / READY.stamp).write_text(read_key(READY, clone, version))
    assert second.communicate(timeout=180)[1] == ""
    assert second.returncode == 0


def test_a_link_to_the_clones_program_runs_it_where_the_user_is(clone: Path, tmp_path: Path) -> None:
    programs, stamp = clone / ".venv" / "bin", clone / ".venv" / READY.stamp
    programs.mkdir()
    (programs / "python").symlink_to(sys.executable)
    shutil.copy(ROOT / "paddock", clone)
    (programs / "paddock").write_text('#!/bin/sh\npwd; printf "<%s>" "$@"; exit 7\n')
    (programs / "paddock").chmod(0o755)
    stamp.write_text(read_key(READY, clone, ".".join(map(str, sys.version_info[:2]))))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pdk").symlink_to(Path("..") / clone.name / "paddock")
    ended = subprocess.run(
        [tmp_path / "bin" / "pdk", "run", "--", "a b", ""], cwd=tmp_path, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, f"{tmp_path}\n<run><--><a b><>", "")
    # Where the set-up fails, nothing is run.
    stamp.unlink()
    (clone / "tools" / "bootstrap.py").write_text("import sys; sys.exit('the disk is full')")
    ended = subprocess.run([clone / "paddock", "get"], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", "the disk is full\n")

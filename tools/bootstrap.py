"""Sets up .venv: what `make demo` needs, and with `dev` what `make test` needs. Called by tools/set-up, which
./paddock and the Makefile call.

    python3 tools/bootstrap.py [dev] [--python PYTHON]

It runs on any Python from 3.7 on, chooses the one that Paddock gets, and changes nothing outside .venv. What is missing
is one sentence with the command for this distribution, and exit code 2, before anything large is fetched.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bootstrap_pip import Pip, run_logged, say
from bootstrap_python import Missing, Python, advise_venv, choose_python, plan_venv

ROOT = Path(__file__).resolve().parents[1]
LOG, LOCK = "setup.log", ".lock"


class Part(NamedTuple):
    """One step of the set-up. `needs`: MB in .venv at the most while it is done; `fetches`: MB to download."""

    stamp: str
    lock: str
    inputs: tuple
    needs: int
    fetches: int


# Measured with Python 3.13 on x86-64: what is installed, and the wheels before they are unpacked.
READY = Part(".ready", "requirements.lock", ("requirements.lock", "pyproject.toml"), 180, 41)
DEV = Part(".ready-dev", "requirements-dev.lock", ("requirements.lock", "requirements-dev.lock"), 410, 105)


# -- whether all is done already


def read_key(part: Part, root: Path, version: str) -> str:
    """What the stamp of a finished part holds. The path counts, as programs in .venv name it; so does Python's version,
    as .venv/bin/python is a link to one that an upgrade may have replaced."""
    content = hashlib.sha256()
    for name in part.inputs:
        content.update((root / name).read_bytes() + b"\0")
    return f"{content.hexdigest()} {version} {os.fsencode(str(root)).hex()}\n"


def is_done(part: Part, root: Path, version: str) -> bool:
    try:
        return bool(version) and (root / ".venv" / part.stamp).read_text() == read_key(part, root, version)
    except OSError:
        return False


def read_version(venv: Path) -> str:
    """`3.13`, of the interpreter in `venv` as it is today; empty where it does not run. A patch of Python (3.13.5 to
    3.13.6) keeps what is installed."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        answer = subprocess.run(
            [str(venv / "bin" / "python"), "-I", "-S", "-c", ask],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.decode().strip() if answer.returncode == 0 else ""


# -- the place


def check_writable(venv: Path) -> None:
    try:
        venv.mkdir(exist_ok=True)
        for name in (LOG, LOCK):
            with (venv / name).open("a"):
                pass
    except OSError as error:
        where = venv if venv.is_dir() else venv.parent
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Missing(f"the disk that has {where} is full: free some space, then try again") from None
        if where == venv:
            advice = f"remove it as the user who made it ({_owner(venv)}), then try again"
        else:
            advice = "clone Paddock into a directory of your own"
        raise Missing(f"{where} is not writable for you ({error.strerror}): {advice}") from None


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except (KeyError, OSError):
        return f"uid {path.stat().st_uid}"


def check_space(venv: Path, needs: int) -> None:
    free = shutil.disk_usage(str(venv)).free // 1_000_000
    if free < needs:
        raise Missing(f"the set-up needs about {needs} MB in {venv}, and {free} MB are free there: free some space")


@contextlib.contextmanager
def locked(venv: Path) -> Iterator[None]:
    """One set-up at a time. On a file system that knows no locks, two at once are the user's own risk."""
    with (venv / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up of .venv runs; this one waits for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            pass
        yield


# -- the steps


def make_venv(python: Python, venv: Path) -> None:
    """Anew: what a former Python or an interrupted set-up has left is removed."""
    uv = shutil.which("uv")
    way = plan_venv(python, uv)
    say(f"setting up .venv with {python.words}")
    for path in venv.iterdir():
        if path.name in (LOG, LOCK):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(str(path))
        else:
            path.unlink()
    command = {
        "venv": [python.path, "-m", "venv", str(venv)],
        "pip": [python.path, "-m", "venv", "--without-pip", str(venv)],
        "uv": [uv, "venv", "--quiet", "--allow-existing", "--seed", "--python", python.path, str(venv)],
    }[way]
    code, output = run_logged(command, venv / LOG)
    if code == 0:
        return
    if re.search(r"No space left|Disk quota", output):
        raise Missing(f"the disk that has {venv} is full: free some space, then try again")
    words = f"its own words: {venv / LOG}"
    if way == "uv":
        raise Missing(f"{python.words} has no venv with pip, and uv could not put one in ({words}): {advise_venv()}")
    raise Missing(f"{python.words} cannot make .venv ({words}): {advise_venv()}")


def install(part: Part, pip: Pip) -> None:
    packages = len(re.findall(r"^[A-Za-z]", (ROOT / part.lock).read_text(encoding="utf-8"), re.MULTILINE))
    say(f"installing {packages} packages of {part.lock}, up to {part.fetches} MB to download")
    pip.install(["-r", str(ROOT / part.lock)], packages)
    if part is READY:
        pip.install_tree(ROOT)


def set_up(parts: list, named: str, root: Path = ROOT) -> None:
    venv = root / ".venv"
    wanted = choose_python(named, None) if named else None

    def find_missing() -> tuple:
        version = read_version(venv)
        if wanted and version != ".".join(map(str, wanted.version[:2])):
            version = ""
        return version, [part for part in parts if not is_done(part, root, version)]

    if not find_missing()[1]:
        return
    check_writable(venv)
    with locked(venv):
        version, missing = find_missing()
        if missing:
            _install_parts(missing, wanted, venv, version)


def _install_parts(missing: list, wanted: Python | None, venv: Path, version: str) -> None:
    begun = time.monotonic()
    (venv / LOG).write_text("")
    python = wanted or choose_python("", os.environ.get("PATH"))
    # A stamp of an older state means that the packages are whole: they are brought up to date in place.
    stamps = [venv / part.stamp for part in (READY, DEV)]
    if not (version and stamps[0].exists() and _made_for(stamps[0], version, venv)):
        check_space(venv, sum(part.needs for part in missing))
        make_venv(python, venv)
        missing = [READY, *(part for part in missing if part is DEV)]
    elif READY not in missing:
        check_space(venv, DEV.needs)
    pip = Pip(venv, python)
    pip.probe(ROOT / READY.lock)
    for part in missing:
        with contextlib.suppress(FileNotFoundError):
            (venv / part.stamp).unlink()
        install(part, pip)
        (venv / part.stamp).write_text(read_key(part, venv.parent, read_version(venv)))
    pip.clean()
    say(f".venv is ready, after {time.monotonic() - begun:.0f} s")


def _made_for(stamp: Path, version: str, venv: Path) -> bool:
    """Whether a stamp's version and path are those of today; its content may be older."""
    return stamp.read_text().split()[1:] == read_key(READY, venv.parent, version).split()[1:]


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def main(arguments: list) -> int:
    named = arguments[arguments.index("--python") + 1] if "--python" in arguments else ""
    sys.stderr.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, _stop)
    try:
        set_up([READY, DEV] if "dev" in arguments else [READY], named)
    except Missing as missing:
        say(str(missing))
        return 2
    except KeyboardInterrupt:
        say("interrupted: .venv is not ready, and the next try goes on with it")
        return 130
    except OSError as error:
        say(f"the set-up of .venv failed ({error}): mend that, then try again")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""pip, run so that a person sees what goes on: progress on the screen, its own words in a log. Python 3.7 or newer."""

from __future__ import annotations

import contextlib
import os
import platform
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from bootstrap_failures import Machine, explain_pip
from bootstrap_python import Missing, Python

TRIES = 3
_PROBE = ["--dry-run", "--ignore-installed", "--timeout", "3", "--retries", "0", "-vv"]
_PROBE_LIMIT = 4.5
_STRICT = ["--progress-bar", "off", "--require-hashes", "--only-binary", ":all:"]
_TICK = 0.5
_SIGN_OF_LIFE = 60.0
"""Without a terminal there is one line for each phase, and one for each minute, as CI ends jobs that are silent."""

# They would put packages elsewhere than into .venv, take some from elsewhere, or hide what the sentences are made of.
_UNWANTED = (
    "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_LOG", "PIP_QUIET",
    "PIP_VERBOSE", "PIP_REQUIREMENT", "PIP_CONSTRAINT", "PIP_NO_BINARY",
)  # fmt: skip
_NOISE = re.compile(r"\s*(Skipping link|Found link|Link requires|changing mode|Created temp|Remote version|Entering)")


def say(text: str) -> None:
    """A line for the person who called make or ./paddock."""
    print(text, file=sys.stderr, flush=True)


class Screen:
    """One line that is written over on a terminal; nothing but a sign of life elsewhere."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._begun = self._told = time.monotonic()

    def show(self, text: str) -> None:
        now = time.monotonic()
        line = f"  {text}, {now - self._begun:.0f} s"
        if self._live:
            sys.stderr.write("\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1])
            sys.stderr.flush()
        elif now - self._told >= _SIGN_OF_LIFE:
            self._told = now
            say(line)

    def end(self) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Progress:
    """What pip does, from its lines."""

    def __init__(self, packages: int) -> None:
        self._packages = packages
        self._seen = 0
        self.text = "asking the package index"

    def read(self, line: str) -> None:
        collecting = re.match(r"Collecting ([^\s=]+)", line)
        downloading = re.match(r"\s*Downloading .*\(([\d.]+ [kMG]?B)\)", line)
        if collecting:
            self._seen += 1
            self.text = f"{self._seen} of {self._packages} packages: {collecting.group(1)}"
        elif downloading:
            self.text = f"{self.text.split(' (')[0]} ({downloading.group(1)})"
        elif line.startswith("Installing collected packages"):
            self.text = f"unpacking {line.count(',') + 1} packages"


def run_logged(command: list, log: Path, progress: Progress | None = None, limit: float | None = None) -> tuple:
    """(Exit code, output) of `command`; the code is None where it ran longer than `limit` seconds."""
    environment = {key: value for key, value in os.environ.items() if key not in _UNWANTED}
    # pip's settings may say otherwise; and temporary files lie where the space was measured.
    environment.update(PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PYTHONIOENCODING="utf-8")
    environment["TMPDIR"] = str(log.parent / "tmp")
    (log.parent / "tmp").mkdir(exist_ok=True)
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        with log.open("a", encoding="utf-8", errors="backslashreplace") as written:
            written.write(f"$ {' '.join(command)}\n")
            return _follow(process, written, progress, limit)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def _follow(process: subprocess.Popen, written, progress: Progress | None, limit: float | None) -> tuple:
    lines: queue.Queue = queue.Queue()
    threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
    begun, output, screen = time.monotonic(), [], Screen()
    try:
        while limit is None or time.monotonic() - begun < limit:
            try:
                line = lines.get(timeout=_TICK)
            except queue.Empty:
                line = ""
            if line is None:
                return process.wait(), "".join(output)
            output.append(line)
            if not _NOISE.match(line):
                written.write(line)
            if progress:
                progress.read(line)
                screen.show(progress.text)
        return None, "".join(output)
    finally:
        screen.end()


def _read(stream, lines: queue.Queue) -> None:
    for line in stream:
        lines.put(line.decode("utf-8", "replace"))
    lines.put(None)


class Pip:
    """pip at work on one .venv: its own, else that of the interpreter behind it."""

    def __init__(self, venv: Path, base: Python) -> None:
        self._version = "{}.{}".format(*base.version)
        python = str(venv / "bin" / "python")
        own = subprocess.run([python, "-I", "-c", "import pip"], stderr=subprocess.DEVNULL).returncode == 0
        self._command = [python, "-m", "pip"] if own else [base.path, "-m", "pip", "--python", python]
        self._venv = venv
        self._log = venv / "setup.log"

    def probe(self, lock: Path) -> None:
        """Asks the index for one small package with short patience, so that a fault is told within seconds."""
        sample = self._venv / "sample.txt"
        block = re.search(r"^editables==(?:.*\\\n)*.*\n", lock.read_text(encoding="utf-8"), re.MULTILINE)
        sample.write_text(block.group(0) if block else "", encoding="utf-8")

        def run(attempt: int) -> tuple:
            code, output = run_logged(self._install(*_PROBE, "-r", str(sample)), self._log, limit=_PROBE_LIMIT)
            if code is None or (code and explain_pip(output, self._read_machine()).slow):
                say("the package index has not answered yet; waiting for it")  # the installation has more patience
                return 0, output
            return code, output

        self._try(run)
        sample.unlink()

    def install(self, arguments: list, packages: int) -> None:
        """Few words first: all of them, which say why a page was not had, take twice the time."""

        def run(attempt: int) -> tuple:
            words = ["--retries", "1"] if attempt == 1 else ["--retries", "1", "-vv"]
            return run_logged(self._install(*words, *arguments), self._log, Progress(packages))

        self._try(run)

    def install_tree(self, root: Path) -> None:
        """Paddock itself, so that edits count at once. It needs nothing from the network."""
        command = [*self._command, "install", "--no-index", "--no-deps", "--no-build-isolation", "-e", str(root)]
        code, output = run_logged(command, self._log)
        if code:
            raise Missing(self._tell(explain_pip(output, self._read_machine()), 1))

    def clean(self) -> None:
        shutil.rmtree(str(self._venv / "tmp"), ignore_errors=True)

    def _install(self, *arguments: str) -> list:
        return [*self._command, "install", *_STRICT, *arguments]

    def _try(self, run) -> None:
        for attempt in range(1, TRIES + 1):
            code, output = run(attempt)
            if code == 0:
                return
            failure = explain_pip(output, self._read_machine())
            if not failure.passing or attempt == TRIES:
                raise Missing(self._tell(failure, attempt))
            say(f"{failure.found}; trying again ({attempt + 1} of {TRIES})")
            time.sleep(attempt)

    def _tell(self, failure, attempts: int) -> str:
        tried = f", after {attempts} tries" if attempts > 1 else ""
        return f"{failure.found}{tried}: {failure.advice} (pip's own words: {self._log})"

    def _read_machine(self) -> Machine:
        """What a failure's sentence needs: the proxy as pip reads it, a way out of this machine, its platform."""
        python = f"Python {self._version} on {platform.machine()}"
        libc = " ".join(platform.libc_ver()).strip() or "a C library that is not glibc"
        listed = subprocess.run([*self._command, "config", "list"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        proxy, setting = find_proxy(os.environ, listed.stdout.decode("utf-8", "replace"))
        return Machine(proxy, setting, is_connected(), f"{python} ({libc})")


def find_proxy(environment, listed: str) -> tuple:
    """(Host, name of the setting) of the proxy, as pip reads it: its own settings before the environment's."""
    configured = re.search(r"^(?:global|install)\.proxy='([^']*)'", listed, re.MULTILINE)
    found = [(environment["PIP_PROXY"], "PIP_PROXY")] if environment.get("PIP_PROXY") else []
    found += [(configured.group(1), "proxy in pip's settings")] if configured else []
    names = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy", "HTTP_PROXY")
    found += [(environment[name], name) for name in names if environment.get(name)]
    if not found:
        return "", ""
    return re.sub(r"^\w+://", "", found[0][0]).rpartition("@")[2].split("/")[0], found[0][1]


def is_connected(routes: str = "/proc/net/route", routes6: str = "/proc/net/ipv6_route") -> bool:
    """Whether there is a route to anywhere but this machine; true where the kernel does not say."""
    try:
        interfaces = [line.split()[0] for line in Path(routes).read_text().splitlines()[1:]]
        with contextlib.suppress(OSError):
            interfaces += [line.split()[-1] for line in Path(routes6).read_text().splitlines()]
    except OSError:
        return True
    return any(name != "lo" for name in interfaces)

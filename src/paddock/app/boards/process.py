"""The process of a board's server: in bubblewrap where that works, without a network and with nothing of the user's but
what it shows; else as a plain process. Either way it listens on a Unix socket in a directory that is the user's alone.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from paddock.app.boards.tools import Tool
from paddock.words.phrases import phrase

PROGRAM = Path(__file__).with_name("paddock_board.py")
START_SECONDS = 120.0
"""For the first imports from a cold disk."""
_PROBE_SECONDS = 60.0
_STOP_SECONDS = 5.0
_LINES = 8
"""Of what the server printed last, for the message that it has ended."""
_READ_BYTES = 64 * 1024
_LONGEST_DIRECTORY = 80
"""A Unix socket's path has 107 bytes (unix(7)), and TMPDIR may be longer."""
_ROOT = "/board"
_SOCKET = "socket"
JOBS = "jobs"
"""The directory of all that is shown; VisualDL begins the names of runs with it."""
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/opt")
_SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/alternatives")


class BoardEnded(Exception):
    """The server has ended, or never listened; the message is what it printed last."""


@dataclass(frozen=True, slots=True)
class Server:
    """What is started."""

    tool: Tool
    environment: Path
    """The directory of its packages."""
    directories: Mapping[str, Path]
    """As in `plan.Plan`."""
    prefix: str
    """The path of all of its pages."""
    language: str


def build_sandboxed(server: Server, scratch: Path, pythons: Sequence[Path], bwrap: str) -> list[str]:
    """The command of a server in bubblewrap: a new root with the system's programs, its packages, and its directories,
    all but `scratch` read-only; no network, so that nothing that it starts is reached from outside. `pythons`: where
    the interpreter lies of which the environment was made. Pure."""
    words = [bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    for name in (*_SYSTEM, *_SETTINGS):
        words += ["--ro-bind-try", name, name]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108 - a new one
    for path in dict.fromkeys((*pythons, server.environment)):
        words += ["--ro-bind", str(path), str(path)]
    words += ["--ro-bind", str(PROGRAM), f"{_ROOT}/{PROGRAM.name}", "--bind", str(scratch), f"{_ROOT}/run"]
    for name, source in sorted(server.directories.items()):
        words += ["--ro-bind", str(source), f"{_ROOT}/{JOBS}/{name}"]
    for name, value in _build_variables("/tmp").items():  # noqa: S108 - the new one
        words += ["--setenv", name, value]
    words += ["--chdir", _ROOT, "--", f"{server.environment}/bin/python", "-I", f"{_ROOT}/{PROGRAM.name}"]
    return [*words, *_build_arguments(server, f"{_ROOT}/run/{_SOCKET}", "fast")]


def build_plain(server: Server, scratch: Path) -> list[str]:
    """The command of a server without a sandbox, to be started in `scratch`, where `JOBS` has links. Its data server
    would listen on a port of this machine, so it reads without. Pure."""
    words = [f"{server.environment}/bin/python", "-I", str(PROGRAM)]
    return [*words, *_build_arguments(server, str(scratch / _SOCKET), "slow")]


def _build_arguments(server: Server, socket: str, speed: str) -> list[str]:
    return [server.tool.name, socket, server.prefix, speed, server.language, JOBS]


def _build_variables(home: str) -> dict[str, str]:
    return {"HOME": home, "TMPDIR": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}


def read_pythons(environment: Path) -> list[Path]:
    """Where the interpreter of a virtual environment lies, by its pyvenv.cfg, as it is written and without links."""
    home = ""
    with suppress(OSError):
        for line in (environment / "pyvenv.cfg").read_text().splitlines():
            key, _, value = line.partition("=")
            home = value.strip() if key.strip() == "home" else home
    link = environment / "bin/python"
    places = [Path(home).parent] if home else []
    places += [Path(home).resolve().parent] if home else []
    places += [link.resolve().parent.parent]
    return [path for path in dict.fromkeys(places) if path.is_dir() and not _is_of_system(path)]


def _is_of_system(path: Path) -> bool:
    return str(path) == "/" or any(path.is_relative_to(each) for each in _SYSTEM)


def make_scratch() -> Path:
    """A new directory for a socket, 0700, in TMPDIR or, where its path were too long for that, in /tmp."""
    long = len(os.fsencode(tempfile.gettempdir())) > _LONGEST_DIRECTORY
    return Path(tempfile.mkdtemp(prefix="paddock-board-", dir="/tmp" if long else None))  # noqa: S108 - a new one


class BoardProcess:
    """A running server. `start` returns when it listens."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._scratch = make_scratch()
        self._process: asyncio.subprocess.Process | None = None
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._reading: asyncio.Task[None] | None = None
        self.problem = ""
        """Why it runs without a sandbox; empty if it has one."""

    @property
    def socket(self) -> Path:
        return self._scratch / _SOCKET

    async def start(self) -> None:
        """Raises `BoardEnded`, OSError."""
        command = await self._choose_command()
        environ = {**os.environ, **_build_variables(str(self._scratch))} if self.problem else None
        self._process = await asyncio.create_subprocess_exec(
            *command, cwd=self._scratch, env=environ, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        self._reading = asyncio.create_task(self._read())
        try:
            async with asyncio.timeout(START_SECONDS):
                while not await self._listens():
                    if self._process.returncode is not None:
                        raise BoardEnded(await self._tell())
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise BoardEnded(await self._tell()) from None

    async def wait(self) -> str:
        """What the server printed last, once it has ended."""
        assert self._process is not None
        await self._process.wait()
        return await self._tell()

    async def stop(self) -> None:
        """Ends it, and removes what was made for it."""
        if self._process is not None and self._process.returncode is None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            try:
                await asyncio.wait_for(self._process.wait(), _STOP_SECONDS)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    self._process.kill()
                await self._process.wait()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        await asyncio.to_thread(shutil.rmtree, self._scratch, ignore_errors=True)

    async def _choose_command(self) -> list[str]:
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            self.problem = str(phrase("bubblewrap (bwrap) is not installed"))
        else:
            pythons = read_pythons(self._server.environment)
            command = build_sandboxed(self._server, self._scratch, pythons, bwrap)
            self.problem = await _probe(command)
            if not self.problem:
                return command
        _link(self._server.directories, self._scratch / JOBS)
        return build_plain(self._server, self._scratch)

    async def _listens(self) -> bool:
        try:
            _, writer = await asyncio.open_unix_connection(str(self.socket))
        except OSError:
            return False
        writer.close()
        return True

    async def _read(self) -> None:
        """To its end: a server whose output nobody takes stops at its next line."""
        assert self._process is not None and self._process.stdout is not None
        held = b""
        while data := await self._process.stdout.read(_READ_BYTES):
            *lines, held = (held + data).split(b"\n")
            self._lines.extend(line.decode(errors="replace").rstrip() for line in lines[-_LINES:])
            held = held[-_READ_BYTES:]
        if held:
            self._lines.append(held.decode(errors="replace").rstrip())

    async def _tell(self) -> str:
        if self._reading is not None and self._process is not None and self._process.returncode is not None:
            await asyncio.wait([self._reading], timeout=1.0)
        return "\n".join(self._lines)


async def _probe(command: Sequence[str]) -> str:
    """Why the interpreter does not start in this sandbox; empty if it does."""
    words = [*command[: command.index("--") + 2], "-I", "-c", "import encodings"]
    process: asyncio.subprocess.Process | None = None
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
        _, said = await asyncio.wait_for(process.communicate(), _PROBE_SECONDS)
    except (OSError, TimeoutError) as error:
        return str(error) or type(error).__name__
    finally:
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()
    text = said.decode(errors="replace").strip()
    return "" if process.returncode == 0 else (text.splitlines() or [f"bwrap ended with {process.returncode}"])[-1]


def _link(directories: Mapping[str, Path], root: Path) -> None:
    """A directory of links, as both programs follow them."""
    root.mkdir()
    for name, source in directories.items():
        link = root / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(source)

"""`paddock render --to bare --run`: starts a job on its machines by ssh, and follows it to its end.

What is decided is in `places.bare.watch`, what is asked of a machine in `places.bare.remote`, the sessions are in
`app.machines.ssh`. Exit codes: 0 completed, 1 failed, 2 a machine is not fit (and nothing is started), 130 interrupted.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from paddock.app.machines.ssh import Answer, RankSession, answers, ask, has_ssh
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.output.language import readers_language
from paddock.cli.output.log_lines import Lines
from paddock.cli.output.screen import Screen
from paddock.cli.rendering.outcome import build_completed, build_failed, build_lost
from paddock.jobs.model import Rank
from paddock.places.bare.remote import (
    Remote,
    build_prepare,
    build_run,
    build_values,
    compare_versions,
    explain_unfit,
)
from paddock.places.bare.watch import Decision, End, State, decide, list_lost
from paddock.places.hosts import Host
from paddock.places.programs import RankProgram, with_fixed_size
from paddock.places.rendering import File, Request
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, phrase

STOP_SECONDS = 25.0
"""Seconds for a rank to end after it was stopped: 10 for itself, some for its machine, then the session is ended."""


def run_machines(request: Request, scripts: Sequence[File], directory: str | None, output: Path) -> int:
    """`scripts`: one for each of `request.hosts`, in their order. `directory`: of the program on the machines, None for
    the job's own, or the current directory's path. `output`: where logs are gathered. Returns the exit code."""
    if not has_ssh():
        raise UserError(phrase("ssh is not here: install openssh-client, or start the scripts by hand"))
    values = read_values(request.programs, os.environ)
    remotes = [build_remote(request, script, directory) for script in scripts]
    logs = output / "logs"
    try:
        logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Failed(phrase("{file}: {why}", file=str(logs), why=explain_unreadable(error))) from error
    with Screen(language=readers_language(), goes_on=True) as screen:
        return asyncio.run(_Run(request, tuple(scripts), tuple(remotes), values, logs, screen).run())


def read_values(programs: Sequence[RankProgram], environment: Mapping[str, str]) -> dict[str, str]:
    """The values that the file has not, from the environment of this command. Raises `UserError` for each that is
    missing, or that no line can hold."""
    wanted = {each.name: each.source for program in programs for each in program.asked}
    missing = [
        phrase("{name} is not set: the cluster has it in {source}; export {name}=… and type this again",
               name=name, source=source)
        for name, source in wanted.items() if name not in environment
    ]  # fmt: skip
    missing += [
        phrase("{name} has a line break, which cannot be sent to a machine", name=name)
        for name in wanted if "\n" in environment.get(name, "")
    ]  # fmt: skip
    if missing:
        raise UserError(*missing)
    return {name: environment[name] for name in wanted}


def build_remote(request: Request, script: File, directory: str | None) -> Remote:
    """Where a script lies on its machine: in the directory of the program, which is where it is here, unless the job or
    the user says otherwise."""
    own = {each.directory for each in request.programs} - {""}
    place = directory or (own.pop() if len(own) == 1 else str(Path.cwd()))
    moves = directory is not None or not any(each.directory for each in request.programs)
    return Remote(place, f"paddock-{request.name}", script.path, moves)


@dataclass
class _Run:
    request: Request
    scripts: tuple[File, ...]
    remotes: tuple[Remote, ...]
    values: Mapping[str, str]
    logs: Path
    screen: Screen
    sessions: dict[Rank, RankSession] = field(default_factory=dict)
    ends: list[End] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    interrupts: int = 0
    is_full: bool = False
    """That logs cannot be written has been told."""
    probing: asyncio.Task[None] | None = None

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, self._interrupt)
        await self._prepare()
        tasks = [asyncio.ensure_future(self._follow(each)) for each in self._in_order()]
        try:
            return await self._watch()
        finally:
            for session in self.sessions.values():
                session.kill()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self.probing is not None:
                self.probing.cancel()

    def _interrupt(self) -> None:
        self.interrupts += 1
        self.changed.set()

    async def _prepare(self) -> None:
        """Writes the script to each machine and checks it there. Raises `UserError` with everything that is wrong."""
        hosts = self.request.hosts
        self.screen.status(f"… {', '.join(host.name for host in hosts)}")
        answers = await asyncio.gather(*map(self._prepare_one, hosts))
        wrong: list[Phrase] = []
        for host, remote, answer in zip(hosts, self.remotes, answers, strict=True):
            if answer.code:
                wrong += explain_unfit(host.name, answer.code, answer.err, remote)
        fit = {host.name: answer.out for host, answer in zip(hosts, answers, strict=True) if not answer.code}
        refused, warned = compare_versions(fit)
        if wrong or refused:
            raise UserError(*wrong, *refused, phrase("nothing is started"))
        for said in warned:
            self.screen.notify(phrase("warning: {said}", said=said))

    async def _prepare_one(self, host: Host) -> Answer:
        script = self.scripts[host.index].text
        return await ask(host.name, build_prepare(self.remotes[host.index]), build_values(self.values) + script)

    def _in_order(self) -> list[RankProgram]:
        """Servers first, which the others ask for."""
        return sorted(self.request.programs, key=lambda each: not each.serves)

    async def _follow(self, program: RankProgram) -> None:
        """One rank, from its start to its end: its lines to the screen and to a file."""
        rank, host = program.rank, program.host
        try:
            session = await RankSession.open(
                host.name, build_run(self.remotes[host.index], str(rank)), build_values(self.values)
            )
        except OSError as error:
            self.screen.notify(phrase("{rank}: {why}", rank=str(rank), why=explain_unreadable(error)))
            self._end(End(rank, None, time.monotonic()))
            return
        self.sessions[rank] = session
        lines = Lines()
        width = max(len(str(each.rank)) for each in self.request.programs)
        with self._open_log(rank) as log:
            async for chunk in session.read(str(rank)):
                self._write(log, chunk)
                self.screen.rank_lines(str(rank), width, lines.feed(chunk))
                self.screen.status(self._describe())
            self.screen.rank_lines(str(rank), width, lines.end())
        tail = session.tail.decode(errors="replace")
        self._end(End(rank, session.code, time.monotonic(), tail, session.is_stopped))

    def _open_log(self, rank: Rank) -> IO[bytes]:
        path = self.logs / f"{rank}.log"
        path.unlink(missing_ok=True)
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")

    def _write(self, log: IO[bytes], chunk: bytes) -> None:
        """A disk that is full ends no rank: its lines are on the screen, and its whole log is on its machine."""
        try:
            log.write(chunk)
            log.flush()
        except OSError as error:
            if not self.is_full:
                self.is_full = True
                self.screen.notify(phrase("{file}: {why}", file=str(self.logs), why=explain_unreadable(error)))

    def _end(self, end: End) -> None:
        if all(each.rank != end.rank for each in self.ends):
            self.ends.append(end)
            self.changed.set()

    def _describe(self) -> str:
        return f"{self.request.name}: {len(self.sessions) - len(self.ends)} of {len(self.request.programs)}"

    async def _watch(self) -> int:
        job = with_fixed_size(self.request.job)
        told = False
        while True:
            self.changed.clear()
            if self.interrupts:
                return await self._stop_all()
            is_probing = self.probing is not None and not self.probing.done()
            decision = decide(job, self.ends, time.monotonic(), probing=is_probing)
            if decision.deaths and self.probing is None:
                self.probing = asyncio.ensure_future(self._probe())
                continue
            if decision.deaths and decision.state is not State.RUNNING and not told:
                told = True
                self._tell_failure(decision)
            if decision.state is State.STOPPING:
                await self._stop(decision.stop)
                if decision.deaths:
                    return 1
                continue
            if decision.state is State.FAILED:
                return 1
            if decision.state is State.COMPLETED:
                self.screen.line(build_completed(self.request, self.logs))
                return 0
            wait = None if decision.wake is None or is_probing else max(0.0, decision.wake - time.monotonic())
            with suppress(TimeoutError):
                await asyncio.wait_for(self.changed.wait(), wait)

    async def _probe(self) -> None:
        """Asks the machines whose ranks still run whether they answer: one that does not is lost."""
        left = {each.host for each in self.request.programs if each.rank not in {end.rank for end in self.ends}}
        try:
            there = dict(zip(left, await asyncio.gather(*(answers(host.name) for host in left)), strict=True))
            for each in self.request.programs:
                if each.host in there and not there[each.host]:
                    self._end(End(each.rank, None, time.monotonic()))
        finally:
            self.changed.set()

    def _tell_failure(self, decision: Decision) -> None:
        host_of = {each.rank: each.host.name for each in self.request.programs}
        for host, ranks in list_lost(self.ends, host_of).items():
            self.screen.line(build_lost(host, ranks), "red")
        for said in build_failed(decision.deaths, host_of, self.ends, self.logs):
            self.screen.line(said, "red")

    async def _stop(self, ranks: Sequence[Rank] | frozenset[Rank]) -> None:
        """Stops ranks and waits for their ends, within a bound."""
        for rank in ranks:
            if rank in self.sessions:
                self.sessions[rank].stop()
        deadline = time.monotonic() + STOP_SECONDS
        while any(end not in {each.rank for each in self.ends} for end in ranks):
            left = deadline - time.monotonic()
            if left <= 0 or self.interrupts > 1:
                break
            self.changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.changed.wait(), left)
        for rank in ranks:
            if all(each.rank != rank for each in self.ends):
                self._tell_left(rank)
                self._end(End(rank, None, time.monotonic(), is_stopped=True))

    def _tell_left(self, rank: Rank) -> None:
        program = next(each for each in self.request.programs if each.rank == rank)
        remote = self.remotes[program.host.index]
        command = f"bash {remote.directory}/{remote.path} stop"
        self.screen.line(
            phrase("{rank} may still run on {host}: type there {command}",
                   rank=str(rank), host=program.host.name, command=command)
        )  # fmt: skip

    async def _stop_all(self) -> int:
        self.screen.line(phrase("interrupted: the ranks are being stopped; once more ends this command at once"))
        await self._stop([each.rank for each in self.request.programs])
        return 130

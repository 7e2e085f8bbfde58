"""Resolves the versions of an environment with uv, and keeps CUDA off a machine without a GPU. I/O.

What is resolved shows whether torch and CUDA are among the packages, also where another package requires them. The
decisions are those of `environments.pytorch.builds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from paddock.environments.definition import Definition
from paddock.environments.failures import BuildFailed, Fault
from paddock.environments.late_builds import TOOLS, find_late
from paddock.environments.packages.torch import PYTORCH_INDEX, TORCH, find_cuda
from paddock.environments.pytorch.builds import (
    CPU,
    PLAIN,
    Asked,
    Candidate,
    Index,
    build_probe,
    choose_candidate,
    explain_build,
    explain_refusal,
    find_doubtful,
    list_indexes,
    read_asked,
    read_variable,
)
from paddock.environments.requirement_inputs import add_to_exact, write_inputs
from paddock.environments.requirements import requirement_name
from paddock.environments.uv import UvRuns
from paddock.words.phrases import phrase

_PROBE_VARIABLES = {"UV_HTTP_TIMEOUT": "5", "UV_HTTP_RETRIES": "0", "UV_TORCH_BACKEND": None}
"""A place that does not answer within seconds is none."""
_OUTPUT = ("--no-header", "--no-annotate")


@dataclass(frozen=True, slots=True)
class Resolved:
    """What is to be installed."""

    versions: dict[str, str]
    """Package -> version, "" for a requirement by URL."""
    file: Path
    """Their exact requirements."""
    build: str = ""
    """Which build of torch was chosen, as a text; empty without torch."""
    doubtful: tuple[str, ...] = ()
    """Packages of the family that may be built for CUDA beside a torch for CPUs."""
    flags: tuple[str, ...] = ()
    """With which uv finds those versions, and installs them."""
    variables: Mapping[str, str | None] = field(default_factory=dict)
    """With which uv finds those versions, and installs them."""
    late: tuple[str, ...] = ()
    """Requirements that are built when all others are installed."""


async def resolve(runs: UvRuns, directory: Path) -> Resolved:
    """Raises `BuildFailed`, also where only a build of torch is found that nobody asked for."""
    late: list[str] = []
    while True:
        kept = [each for each in runs.definition.packages if each not in late]
        part = replace(runs.definition, requirements=(*kept, *TOOLS)) if late else runs.definition
        try:
            return replace(await _Resolution(replace(runs, definition=part), directory).run(), late=tuple(late))
        except BuildFailed:
            needy = find_late(runs.log[-1], kept)
            if not needy:
                raise
            late.append(needy)


@dataclass(slots=True)
class _Resolution:
    """One resolution."""

    runs: UvRuns
    directory: Path  # a venv, which also takes the files
    place: str = ""
    unreached: bool = False  # PyTorch's own index has nothing, or does not answer
    flags: tuple[str, ...] = ()  # of the last run that resolved
    variables: Mapping[str, str | None] = field(default_factory=dict)  # of the last run that resolved
    extra: list[str] = field(default_factory=list)

    @property
    def definition(self) -> Definition:
        return self.runs.definition

    async def run(self) -> Resolved:
        environ = self.runs.uv.settings(self.definition).environment
        asked = read_asked(self.definition, environ, self.runs.uv.machine.gpu)
        versions = await self._compile(await self._choose_flag(asked))
        if find_cuda(versions) and not asked.allows_cuda:
            versions = await self._compile_for_cpu(asked, list_indexes(environ), versions)
        variable = read_variable(self.definition, environ, self.runs.uv.machine.gpu)
        build = explain_build(versions, self.place, bool(find_cuda(versions)), variable)
        exact = self.directory / "requirements.txt"
        add_to_exact(exact, self.definition)
        return Resolved(versions, exact, build, find_doubtful(versions), self.flags, self.variables)

    async def _choose_flag(self, asked: Asked) -> str:
        """The value of `--torch-backend`; empty where nobody asked for it and its index cannot be reached."""
        if not asked.flag:
            return ""
        if asked.explicit or await self._reaches_pytorch(asked.flag):
            self.place = PYTORCH_INDEX
            return asked.flag
        self.unreached = True
        return ""

    async def _reaches_pytorch(self, backend: str) -> bool:
        found = await self._probe(Index(PYTORCH_INDEX, ("--torch-backend", backend)))
        return bool(found.version)

    async def _compile_for_cpu(
        self, asked: Asked, places: tuple[Index, ...], versions: dict[str, str]
    ) -> dict[str, str]:
        """The versions with a CPU build, from PyTorch's index or else from `places`."""
        if not asked.flag and await self._reaches_pytorch(CPU):
            self.place = PYTORCH_INDEX
            return await self._compile(CPU)
        candidates = [await self._probe(place) for place in places]
        chosen = choose_candidate(candidates)
        if chosen is None:
            refused = explain_refusal(self.definition, versions[TORCH], [each.name for each in places])
            raise BuildFailed(refused, Fault.MACHINE)
        if not chosen.version:
            said = phrase(
                "{place} has a build of torch for CPUs, and none for Python {version}",
                place=chosen.place, version=self.runs.python.short,
            )  # fmt: skip
            raise BuildFailed(said, Fault.MACHINE, chosen.pythons)
        self.place = chosen.place
        self.extra = [f"{TORCH}=={chosen.version}"]
        compiled = await self._compile("")
        # The builds for CPUs of the family have the same versions, and are others than those of the index.
        for name in find_doubtful(compiled):
            exact = f"{name}=={compiled[name]}+cpu"
            if (await self._probe(Index(name), exact)).version:
                self.extra.append(exact)
        return await self._compile("") if len(self.extra) > 1 else compiled

    async def _compile(self, backend: str) -> dict[str, str]:
        exact = self.directory / "requirements.txt"
        self.flags = ("--torch-backend", backend) if backend else ()
        # UV_TORCH_BACKEND would take the place of what was chosen, or ask an index that has not answered.
        chosen = backend or self.unreached or self.definition.torch_backend == PLAIN
        self.variables = {"UV_TORCH_BACKEND": None} if chosen else {}
        await self.runs.run(
            *("pip", "compile", "--python", self._interpreter, *_OUTPUT, *self.flags),
            *("--output-file", str(exact), *write_inputs(self.directory, self.definition, self.extra)),
            variables=self.variables,
        )
        return read_versions(exact.read_text())

    async def _probe(self, place: Index, requirement: str = "") -> Candidate:
        """What `place` has of a requirement, of torch without one; neither version nor interpreters if nothing, or if
        it cannot be reached."""
        wanted = self.directory / "torch.in"
        requirement = requirement or build_probe(self.definition)
        wanted.write_text(f"{requirement}\n")
        try:
            output = await self.runs.run(
                *("pip", "compile", "--python", self._interpreter, "--no-deps", *_OUTPUT, *place.flags, str(wanted)),
                variables={**_PROBE_VARIABLES, **place.variables},
                tries=1,
            )
        except BuildFailed as failed:
            # uv names the version that has wheels for other interpreters.
            return Candidate(place.name, pythons=failed.pythons if "+cpu" in failed.message else "")
        return Candidate(place.name, read_versions(output).get(requirement_name(requirement), ""))

    @property
    def _interpreter(self) -> str:
        return str(self.directory / "bin/python")


def read_versions(lock: str) -> dict[str, str]:
    """Package -> version, from uv's `name==version` lines; "" for a requirement by URL (`name @ https://…`). Pure."""
    found = {}
    for line in lock.splitlines():
        if line[:1].isalnum() and ("==" in line or " @ " in line):
            pinned = line.split(";")[0].partition("==") if " @ " not in line else (line.partition(" @ ")[0], "", "")
            found[requirement_name(pinned[0])] = pinned[2].strip().rstrip("\\").strip()
    return found

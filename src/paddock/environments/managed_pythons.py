"""uv's managed interpreters: downloads one if no interpreter of this machine suits the packages. I/O.

The progress always shows version, host and size. uv keeps the interpreter for all of the user's environments
(UV_PYTHON_INSTALL_DIR), and honours UV_PYTHON_INSTALL_MIRROR, UV_PYTHON_DOWNLOADS and UV_OFFLINE.
Source: uv's guide, "Installing and managing Python".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from paddock.environments.distributions import PYTHON_313
from paddock.environments.failures import BuildFailed, Fault, explain_tries, root_cause
from paddock.environments.progress import Progress, read_python_bar
from paddock.environments.pythons import (
    Python,
    Version,
    choose_python,
    explain_range,
    explain_unsuitable,
    fetch_pythons,
    list_pythons,
    match_version,
    read_release,
)
from paddock.environments.uv import Machine, UvRuns
from paddock.words.phrases import Phrase, phrase


@dataclass(frozen=True, slots=True)
class Download:
    """An interpreter that uv can download, and the host."""

    version: Version
    host: str

    @property
    def name(self) -> str:
        return "Python " + ".".join(map(str, self.version))


def choose_download(listing: Sequence[Mapping[str, Any]], specifier: str, mirror: str) -> Download | None:
    """The newest matching release of CPython in uv's list of downloads, or None. Pure."""
    found = []
    for each in listing:
        version = read_release(each)
        if version and match_version(specifier, version):
            found.append((version, urlsplit(mirror or str(each.get("url") or "")).hostname or mirror))
    return Download(*max(found)) if found else None


def explain_remedy(specifier: str, machine: Machine) -> Phrase:
    """What to do if the download failed. Pure."""
    command = machine.install_command(PYTHON_313) if match_version(specifier, (3, 13, 0)) else ""
    how = phrase("with your system's packages, or pyenv")
    if command:
        how = phrase("{command}, or pyenv", command=f"`{command}`")
    return phrase(
        "install {allowed} ({how}), or set UV_PYTHON_INSTALL_MIRROR to a mirror of uv's Pythons that can be reached "
        "from here",
        allowed=explain_range(specifier), how=how,
    )  # fmt: skip


async def fetch_python(runs: UvRuns, specifier: str, found: Sequence[Python]) -> Python:
    """Downloads a matching interpreter. Raises `BuildFailed`: why none of `found` suits, why the download failed, and
    what to do."""
    environ = runs.uv.environ
    unsuitable = explain_unsuitable(runs.definition.subject, specifier, found)
    listing = await list_pythons(runs.uv.program, environ, "--only-downloads")
    download = choose_download(listing, specifier, environ.get("UV_PYTHON_INSTALL_MIRROR", ""))
    if download is None:
        said = phrase(
            "{unsuitable}, and uv knows no {allowed} for this machine: check spec.python",
            unsuitable=unsuitable, allowed=explain_range(specifier),
        )  # fmt: skip
        raise BuildFailed(said, Fault.MACHINE)
    try:
        await _install(runs, download)
    except BuildFailed as failed:
        said = phrase(
            "{unsuitable}, and {name} could not be fetched from {host} ({why}): {remedy}",
            unsuitable=unsuitable, name=download.name, host=download.host,
            why=explain_tries(root_cause(runs.log[-1]), failed.tries),
            remedy=explain_remedy(specifier, runs.uv.machine),
        )  # fmt: skip
        raise BuildFailed(said, Fault.MACHINE) from failed
    suits = choose_python(specifier, await fetch_pythons(runs.uv.program, environ))
    if suits is None:
        said = phrase(
            "{unsuitable}, and uv does not find the {name} that it fetched", unsuitable=unsuitable, name=download.name
        )
        raise BuildFailed(said, Fault.MACHINE)
    return suits


async def _install(runs: UvRuns, download: Download) -> None:
    wanted = ".".join(map(str, download.version))
    subject = str(
        phrase(
            "Python {version} for {subject}, from {host}",
            version=wanted, subject=runs.definition.subject, host=download.host,
        )
    )  # fmt: skip
    runs.doing = str(phrase("fetching {subject}", subject=subject))

    def on_text(text: str) -> None:
        if bar := read_python_bar(text):
            runs.report(Progress("fetching", 100 * bar[0] // max(bar[1], 1), subject, bar[1]))

    runs.report(Progress("fetching", 0, subject))
    # The user's own setting holds here. All other runs of uv set "never", so that none downloads an interpreter
    # silently.
    allowed = {"UV_PYTHON_DOWNLOADS": runs.uv.environ.get("UV_PYTHON_DOWNLOADS")}
    # Without --no-bin, uv would also put an executable into the user's directory of programs.
    await runs.run("python", "install", "--no-bin", wanted, on_text=on_text, variables=allowed)

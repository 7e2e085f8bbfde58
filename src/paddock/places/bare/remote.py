"""What is asked of a machine by ssh: command lines, what is sent to them, and what their answers mean. Pure.

Nothing of the machine's ssh is changed or switched off: its keys, its known hosts and ~/.ssh/config decide. A machine
whose user has another login shell runs `sh` all the same. Values that are asked for go over the input, so that neither
a list of processes nor a file has them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from paddock.places.rendering import MARK
from paddock.words.phrases import Foreign, Phrase, phrase

CONNECT_SECONDS = 10
ALIVE_SECONDS, ALIVE_TIMES = 5, 6
SILENT_SECONDS = ALIVE_SECONDS * ALIVE_TIMES
"""Seconds without any answer after which ssh gives a machine up. A cut of half of it is survived."""

OPTIONS = (
    "-o", "BatchMode=yes",
    "-o", f"ConnectTimeout={CONNECT_SECONDS}",
    "-o", f"ServerAliveInterval={ALIVE_SECONDS}",
    "-o", f"ServerAliveCountMax={ALIVE_TIMES}",
    "-T",
)  # fmt: skip

NO_DIRECTORY, TAKEN = 74, 75
"""Exit codes of the texts below, which no script of a machine uses."""
SSH_FAILED = 255

_VALUES = 'while IFS= read -r line && [ -n "$line" ]; do export "${line?}"; done'
_PREPARE = """
{values}
cd -- {directory} || exit {no_directory}
umask 077
mkdir -p -- {folder} || exit {no_directory}
if [ -e {script} ] && ! head -n 9 -- {script} | grep -qF {mark}; then exit {taken}; fi
cat >{script}.new && mv -f -- {script}.new {script} || exit {no_directory}
exec bash {script} check
"""


@dataclass(frozen=True, slots=True)
class Remote:
    """Where a machine's script lies."""

    directory: str  # of the program
    folder: str  # in that directory, for the script and the logs
    script: str
    moves: bool
    """Programs start in `directory`, and not where the job says."""

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.script}"


def build_ssh(host: str, command: str) -> tuple[str, ...]:
    """The words of an ssh that runs `command`, a text for sh, on `host`."""
    return ("ssh", *OPTIONS, "--", host, f"exec sh -c {shlex.quote(command)}")


def build_prepare(remote: Remote) -> str:
    """Writes the script that follows the values on the input, and checks the machine by it."""
    return (_move(remote) + _PREPARE).format(
        values=_VALUES,
        directory=shlex.quote(remote.directory),
        no_directory=NO_DIRECTORY,
        folder=shlex.quote(remote.folder),
        script=shlex.quote(remote.path),
        mark=shlex.quote(MARK),
        taken=TAKEN,
    )


def build_run(remote: Remote, rank: str) -> str:
    """Runs a rank in the foreground, with the values from the input; the end of the input stops it."""
    directory = shlex.quote(remote.directory)
    return (
        f"{_move(remote)}{_VALUES}\ncd -- {directory} && exec bash {shlex.quote(remote.path)} run {shlex.quote(rank)}"
    )


def _move(remote: Remote) -> str:
    if not remote.moves:
        return ""
    return f"export PADDOCK_DIRECTORY={_literal(remote.directory)}\n"


def _literal(text: str) -> str:
    """A quoted word in a text for `str.format`."""
    return shlex.quote(text).replace("{", "{{").replace("}", "}}")


def build_values(values: Mapping[str, str]) -> str:
    """The values on the input, ended by an empty line."""
    return "".join(f"{name}={value}\n" for name, value in values.items()) + "\n"


_FAILURES: Sequence[tuple[str, Phrase]] = (
    (
        "Host key verification failed",
        phrase("its key is not known here: connect once by hand, ssh HOST, and compare it"),
    ),
    (
        "Permission denied",
        phrase("it does not let you in with your keys: ssh-copy-id HOST, or `User` in ~/.ssh/config"),
    ),
    ("Connection refused", phrase("it refuses ssh: is sshd running there, at this port?")),
    ("Could not resolve hostname", phrase("its name does not resolve here: name it by its address")),
    ("No route to host", phrase("there is no way to it: is it up, and in this network?")),
    ("timed out", phrase("it does not answer: is it up, and in this network?")),
)
"""A part of ssh's last line -> what it means and what to do. `HOST` is not replaced: the sentence begins with it."""


def explain_unfit(host: str, code: int, errors: str, remote: Remote) -> tuple[Phrase, ...]:
    """Why a machine cannot run its ranks, from the exit code and the error output of `build_prepare`."""
    lines = [line for line in errors.splitlines() if line.strip() and not line.startswith("Warning: Permanently added")]
    if code == NO_DIRECTORY:
        said = phrase(
            "{host}: {directory} is no directory there in which files can be written: copy the program there, or name "
            "another one by --directory",
            host=host, directory=remote.directory,
        )  # fmt: skip
        return (said,)
    if code == TAKEN:
        said = phrase(
            "{host}: {file} is there already, and Paddock did not make it: move it away",
            host=host, file=f"{remote.directory}/{remote.path}",
        )  # fmt: skip
        return (said,)
    if code == SSH_FAILED:
        known = next((why for part, why in _FAILURES if any(part in line for line in lines)), None)
        last = Foreign(lines[-1]) if lines else phrase("ssh ended and gave no reason")
        return (phrase("{host}: {why}", host=host, why=last if known is None else known),)
    return tuple(
        phrase("{host}: {why}", host=host, why=Foreign(line)) for line in lines or [f"check ended with {code}"]
    )


_VERSION = re.compile(r"(?P<name>[a-z]+) (?P<version>\d\S*)")


def compare_versions(checked: Mapping[str, str]) -> tuple[tuple[Phrase, ...], tuple[Phrase, ...]]:
    """What differs between machines, from what their checks printed: refusals, for other versions of the framework, and
    warnings, for other Pythons."""
    refused, warned = [], []
    names = dict.fromkeys(name for text in checked.values() for name, _ in _read_versions(text))
    for name in names:
        found: dict[str, list[str]] = {}
        for host, text in checked.items():
            for each, version in _read_versions(text):
                if each == name and host not in found.setdefault(version, []):
                    found[version].append(host)
        if len(found) < 2:
            continue
        where = _join([phrase("{version} on {host}", version=each, host=hosts[0]) for each, hosts in found.items()])
        if name == "python":
            warned.append(phrase("the machines have other Pythons: {where}", where=where))
        else:
            refused.append(
                phrase("the machines have other versions of {name}, which do not train together: {where}",
                       name=name, where=where)
            )  # fmt: skip
    return tuple(refused), tuple(warned)


def _read_versions(text: str) -> Iterable[tuple[str, str]]:
    for line in text.splitlines():
        if match := _VERSION.fullmatch(line.strip()):
            yield match["name"], match["version"]


def _join(parts: Sequence[Phrase]) -> Phrase:
    joined = parts[0]
    for part in parts[1:]:
        joined = phrase("{first}, {second}", first=joined, second=part)
    return joined

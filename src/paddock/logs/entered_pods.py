"""The stacks of a pod that is entered by `exec`: the shell programs that look around in its container, and what they
print, as values. Pure; `app.entered_stacks` runs them, `logs.entered_troubles` tells why a process has no stack.

A program prints lines that begin with a token, which is another one in each run: nothing that a process of the pod has
made of its own words can pass for one. They are for any POSIX shell (dash, bash, busybox), with `tr`, `head`, `grep`
and `readlink`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from paddock.kube.pod_stacks import (
    MOST_BYTES,
    MOST_PROCESSES,
    PodStacks,
    ProcessStacks,
    Trouble,
    is_python,
    read_rank,
)
from paddock.logs.stack_dumps import Dump, judge_py_spy

SECONDS_OF_ONE = 10
"""For one process, where the container has `timeout`."""
_LONGEST_COMMAND = 200
_SYS_PTRACE = 19
"""linux/capability.h"""
_TIMED_OUT = (124, 137, 143)
"""How `timeout` ends."""
_ROOM_KB = 16 * 1024
"""Free, where py-spy is copied to."""
_ELF, _PROGRAM_INTERPRETER = b"\x7fELF\x02\x01", 3
_MACHINES = {62: "x86_64", 183: "aarch64"}
"""elf(5), e_machine -> uname -m."""

_LOOK = r"""
copies=$1
read_status() {
  q= u= c= k=
  while read -r a b _; do
    case $a in State:) q=$b ;; Uid:) u=$b ;; CapEff:) c=$b ;; Seccomp:) k=$b ;; esac
  done <"$1"
}
link() { readlink "$1" 2>/dev/null; }
first() { o=; { read -r o <"$1"; } 2>/dev/null; }
echo "$t machine $(uname -m 2>/dev/null)"
tool=$(command -v py-spy 2>/dev/null)
echo "$t tool $tool"
if [ -z "$tool" ] && [ "$copies" = yes ]; then
  for d in "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm /run; do
    k=$(df -Pk "$d" 2>/dev/null | tail -n 1 | tr -s ' ' | cut -d ' ' -f 4)
    case $k in ''|*[!0-9]*) ;; *) [ "$k" -ge ROOM ] || { full=$d; continue; } ;; esac
    at=$d/.paddock-$t
    mkdir -m 700 "$at" 2>/dev/null || continue
    # Some directories are for data alone (noexec).
    printf '#!/bin/sh\nexit 0\n' 2>/dev/null >"$at/x" && chmod 700 "$at/x" && "$at/x" 2>/dev/null && place=$d
    rm -f "$at/x"; rmdir "$at"
    [ -n "$place" ] && break
  done
  echo "$t place $place"; echo "$t full $full"
fi
command -v gzip >/dev/null 2>&1 && echo "$t gzip yes"
first /proc/sys/kernel/yama/ptrace_scope; echo "$t yama $o"
read_status "/proc/$$/status"; echo "$t self $u $c $k"
w=$(link "/proc/$$/ns/mnt"); first "/proc/$$/cgroup"; g=$o
n=0
for d in /proc/[0-9]*; do
  p=${d#/proc/}
  [ "$p" = "$$" ] && continue
  [ -r "$d/status" ] || continue
  { read_status "$d/status"; } 2>/dev/null || continue
  case $q in ''|Z|X) continue ;; esac
  m=$(link "$d/ns/mnt"); first "$d/cgroup"
  if [ -n "$m" ]; then [ "$m" = "$w" ] || continue; else [ "$o" = "$g" ] || continue; fi
  if [ -n "$PADDOCK_POD_UID" ]; then
    grep -q "PADDOCK_POD_UID=$PADDOCK_POD_UID" "$d/environ" 2>/dev/null || continue
    grep -q "PADDOCK_CONTAINER=$PADDOCK_CONTAINER" "$d/environ" 2>/dev/null || continue
  fi
  e=$(link "$d/exe")
  l=$(tr '\000\n' '  ' <"$d/cmdline" 2>/dev/null | head -c 400)
  [ -z "$e$l" ] && continue
  first "$d/wchan"; h=$o
  y= r=
  case ${e##*/} in
    python*|pypy*) y=yes ;;
    ?*) grep -q 'libpython[0-9.]*t*d*[.]so' "$d/maps" 2>/dev/null && y=yes ;;
  esac
  if [ -n "$y" ]; then
    r=$(tr '\000' '\n' <"$d/environ" 2>/dev/null | grep -E '^(RANK|PADDLE_TRAINER_ID)=[0-9]+$' | tr '\n' ' ')
  fi
  echo "$t process $p $q $u $c $h"
  echo "$t program $e"
  echo "$t python $y"
  echo "$t ranks $r"
  printf '%s command %s\n' "$t" "$l"
  n=$((n + 1))
  [ "$n" -ge 1000 ] && break
done
echo "$t done"
""".replace("ROOM", str(_ROOM_KB))

_DUMP = r"""
limit=; timeout 10 true 2>/dev/null && limit='timeout SECONDS'
dump() {
  for p; do
    echo "$t stack $p"; echo "$t stack $p" >&2
    {
      # A program that runs on may change what is being read.
      for n in 1 2 3; do
        $limit "$f" dump --json --nonblocking --pid "$p"
        c=$?
        case $c in 0|124|137|143) break ;; esac
      done
      echo; echo "$t code $c"
    } | head -c MOST
    echo
  done
  echo "$t done"
}
""".replace("SECONDS", str(SECONDS_OF_ONE)).replace("MOST", str(MOST_BYTES + 200))

_OWN = rf"""
f=$1; shift
{_DUMP}
dump "$@"
"""

_COPY = rf"""
at=$1/.paddock-$t size=$2 packed=$3; shift 3
umask 077
clean() {{ rm -f "$at/py-spy"; rmdir "$at"; }}
fail() {{ echo "$t failed"; exit 1; }}
mkdir "$at" || fail
trap clean EXIT
trap 'exit 1' HUP INT TERM
if [ "$packed" = yes ]; then
  head -c "$size" | gzip -dc >"$at/py-spy"
else
  head -c "$size" >"$at/py-spy"
fi || fail
chmod 700 "$at/py-spy" || fail
# Without a name from now on, so nothing of it can be left.
exec 3<"$at/py-spy"
clean
trap - EXIT
f=/proc/$$/fd/3
{_DUMP}
dump "$@"
"""


class UnreadableLook(ValueError):
    """What was printed is not whole, or of another form."""


@dataclass(frozen=True, slots=True)
class Guards:
    """What a container has, and what stands before who looks into its processes."""

    machine: str = ""
    """`uname -m`."""
    tool: str = ""
    """The path of its own py-spy; empty without one."""
    packs: bool = False
    """It has gzip."""
    directory: str = ""
    """Where a program may be written and started; empty without one, and where that was not looked for."""
    full: str = ""
    """A directory that would do, and has no room."""
    ptrace_scope: int | None = None
    """Of Yama; None where the node has no Yama, or shows it to nobody."""
    user: int = 0
    """As whom exec runs."""
    capabilities: int = 0
    filtered: bool = False
    """Its calls are filtered (seccomp)."""

    @property
    def traces(self) -> bool:
        return bool(self.capabilities >> _SYS_PTRACE & 1)


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """A process of the container. Numbers are those that the container counts."""

    pid: int
    state: str = ""
    """proc(5): `R`, `S`, `D`, `T`."""
    user: int = 0
    capabilities: int = 0
    waits: str = ""
    """The function of the kernel in which it waits; empty where it runs, and where nobody may see it."""
    program: str = ""
    """The name of its file; empty where nobody may see it."""
    python: bool | None = None
    """None where nobody may see it."""
    rank: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """What a look into a container has found."""

    guards: Guards = field(default_factory=Guards)
    processes: tuple[SeenProcess, ...] = ()
    """By number."""

    @property
    def chosen(self) -> tuple[SeenProcess, ...]:
        """Those whose stacks are taken."""
        return self._list_python()[:MOST_PROCESSES]

    @property
    def left_out(self) -> int:
        return max(len(self._list_python()) - MOST_PROCESSES, 0)

    def _list_python(self) -> tuple[SeenProcess, ...]:
        return tuple(each for each in self.processes if each.python is not False)

    def find(self, pid: int) -> SeenProcess:
        return next((each for each in self.processes if each.pid == pid), SeenProcess(pid))


def _build(token: str, program: str, *words: str) -> tuple[str, ...]:
    """The token stands first, so that a look knows what Paddock has started by the begin of its command."""
    return ("sh", "-c", f"t={token}\n{program}", "sh", *words)


def build_look(token: str, *, copies: bool) -> tuple[str, ...]:
    """The command that looks around. `copies`: also for a directory, in which it makes a file and removes it, where the
    container has no py-spy."""
    return _build(token, _LOOK, "yes" if copies else "no")


def build_dump(token: str, tool: str, pids: Sequence[int]) -> tuple[str, ...]:
    """The command that dumps the stacks by the container's own py-spy."""
    return _build(token, _OWN, tool, *map(str, pids))


def build_copy(token: str, guards: Guards, size: int, pids: Sequence[int]) -> tuple[str, ...]:
    """The command that takes py-spy from its input, `size` bytes, packed if it can be, dumps the stacks by it, and
    removes it."""
    packed = "yes" if guards.packs else "no"
    return _build(token, _COPY, guards.directory, str(size), packed, *map(str, pids))


def read_look(text: str, token: str) -> Look:
    """Raises `UnreadableLook`."""
    facts, processes, is_whole = dict[str, str](), list[dict[str, str]](), False
    for key, value in _read_lines(text, token):
        if key == "done":
            is_whole = True
        elif key == "process":
            processes.append({key: value})
        elif processes:
            processes[-1][key] = value
        else:
            facts[key] = value
    if not is_whole:
        raise UnreadableLook(text.strip()[-_LONGEST_COMMAND:])
    found = [read for each in processes if token not in each.get("command", "") and (read := _read_process(each))]
    return Look(_read_guards(facts), tuple(sorted(found, key=lambda each: each.pid)))


def _read_lines(text: str, token: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        first, _, rest = line.partition(" ")
        if first == token:
            key, _, value = rest.partition(" ")
            yield key, value.strip()


def _read_guards(facts: Mapping[str, str]) -> Guards:
    user, capabilities, seccomp = _split(facts.get("self", ""), 3)
    scope = facts.get("yama", "")
    return Guards(
        facts.get("machine", ""), facts.get("tool", ""), facts.get("gzip") == "yes",
        facts.get("place", ""), facts.get("full", ""),
        int(scope) if scope.isdecimal() else None, _read_number(user), _read_number(capabilities, 16), seccomp == "2",
    )  # fmt: skip


def _read_process(found: Mapping[str, str]) -> SeenProcess | None:
    pid, state, user, capabilities, waits = _split(found["process"], 5)
    if not pid.isdecimal():
        return None
    path = found.get("program", "")
    program = path.rpartition("/")[2]
    python = None if not program else is_python(program) or found.get("python") == "yes"
    variables = dict(each.partition("=")[::2] for each in found.get("ranks", "").split())
    return SeenProcess(
        int(pid), state, _read_number(user), _read_number(capabilities, 16), "" if waits == "0" else waits, program,
        python, read_rank(variables), found.get("command", "")[:_LONGEST_COMMAND],
    )  # fmt: skip


def _split(text: str, count: int) -> list[str]:
    words = text.split()[:count]
    return words + [""] * (count - len(words))


def _read_number(text: str, base: int = 10) -> int:
    try:
        return int(text, base)
    except ValueError:
        return 0


@dataclass(frozen=True, slots=True)
class Dumped:
    """What a dump has printed."""

    dumps: Mapping[int, Dump] = field(default_factory=dict)
    failed: bool = False
    """py-spy could not be put there."""


def read_dumps(out: str, said: str, token: str) -> Dumped:
    """`said`: what was printed to stderr. A process that is not told of has no answer."""
    failed = any(key == "failed" for key, _ in _read_lines(out, token))
    errors = dict(_split_stacks(said, token))
    found = {}
    for pid, text in _split_stacks(out, token):
        match = re.search(rf"^{re.escape(token)} code (\d+)$", text, re.MULTILINE)
        if match is None:  # cut off: by its length, or by the end of the connection
            found[pid] = Dump((), Trouble.TOO_LONG if len(text.encode()) >= MOST_BYTES else Trouble.NO_ANSWER)
        elif int(match[1]) in _TIMED_OUT:
            found[pid] = Dump((), Trouble.NO_ANSWER)
        else:
            found[pid] = judge_py_spy(int(match[1]), text[: match.start()], errors.get(pid, ""))
    return Dumped(found, failed)


def _split_stacks(text: str, token: str) -> Iterator[tuple[int, str]]:
    parts = re.split(rf"^{re.escape(token)} stack (\d+)\n", text, flags=re.MULTILINE)
    for number, part in zip(parts[1::2], parts[2::2], strict=True):
        yield int(number), part.partition(f"\n{token} done")[0]


def build_stacks(pod: str, container: str, look: Look, dumps: Mapping[int, Dump], other: Trouble) -> PodStacks:
    """`other`: the trouble of a process that has no dump."""
    processes = tuple(_build_process(each, container, dumps.get(each.pid) or Dump((), other)) for each in look.chosen)
    others = dict.fromkeys(each.program for each in look.processes if each.python is False)
    return PodStacks(pod, processes, tuple(others), look.guards.tool, look.left_out)


def _build_process(seen: SeenProcess, container: str, dump: Dump) -> ProcessStacks:
    if seen.state in ("T", "t") and dump.trouble is not None:
        dump = Dump((), Trouble.STOPPED)
    trouble = "" if dump.trouble is None else str(dump.trouble)
    return ProcessStacks(
        seen.pid, container, seen.command, seen.rank, dump.threads, "" if trouble else "py-spy", trouble, dump.said
    )


def read_machine(program: bytes) -> str:
    """For which machine a static program of Linux is, as `uname -m` names it; empty of everything else, also of one
    that needs an interpreter, which another system may not have."""
    if not program.startswith(_ELF) or len(program) < 64:
        return ""
    (machine,) = struct.unpack_from("<H", program, 18)
    (offset,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    starts = [offset + number * size for number in range(count)]
    if any(start + 4 > len(program) for start in starts):
        return ""
    needs = any(struct.unpack_from("<I", program, start)[0] == _PROGRAM_INTERPRETER for start in starts)
    return "" if needs else _MACHINES.get(machine, "")

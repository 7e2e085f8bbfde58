"""Runs in a pod on a cluster, by the Python of its image, as old as 3.6, and with nothing of Paddock's beside it. It
reads what runs have written, and writes nothing.

    python3 -c RECEIVE serve DIRECTORY BYTES     answers requests, a line of JSON each, until its input ends; this text,
                                                 of so many bytes, is the beginning of its input
    python3 -c TEXT wait SECONDS                 keeps a pod until nobody has run anything else in it for so long

    {"runs": ""}                 the records of the runs in DIRECTORY (`jobs.objects.outputs_program`), a line for each
    {"list": "UID", "most": 9}   the files below DIRECTORY/UID, a line for each; links and devices are counted only
    {"get": "UID/model", "from": 0}   a line about the file, its bytes from there on, and a line with the SHA-256 of all

Each answer ends with a line that has "end". Where it is long in coming, there are empty lines on standard error. A path
is text; bytes of it that are no UTF-8 are lone surrogates, as `os.fsdecode` makes them. A path that leads out of
DIRECTORY, through a link too, is refused.
"""
# ruff: noqa: UP006, UP035 - Python 3.6

import hashlib
import json
import os
import signal
import stat
import sys
import time
from typing import Any, BinaryIO, Dict, Iterator, Tuple

MOST_RUNS = 10000
BLOCK = 1 << 20
LOOK_SECONDS = 5.0
BEAT_SECONDS = 15.0
BEATEN = [0.0]


def tell(out: BinaryIO, **facts: Any) -> None:
    out.write(json.dumps(facts).encode("ascii") + b"\n")


def beat() -> None:
    """After each step of what is long in coming: who waits hears that the storage answers."""
    if time.monotonic() - BEATEN[0] > BEAT_SECONDS:
        BEATEN[0] = time.monotonic()
        sys.stderr.write("\n")
        sys.stderr.flush()


def read_record(path: str) -> Dict[str, Any]:
    """Empty where it cannot be read."""
    try:
        with open(path) as file:
            found = json.loads(file.read(65536))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def list_runs(root: str, out: BinaryIO) -> None:
    """A directory without a record is a run too: its image had no Python."""
    seen = 0
    if os.path.isdir(root):
        with os.scandir(root) as entries:
            for each in entries:
                if seen == MOST_RUNS or not each.is_dir(follow_symlinks=False):
                    continue
                seen += 1
                beat()
                facts = read_record(each.path + ".json")
                tell(out, uid=each.name, written=each.stat(follow_symlinks=False).st_mtime, record=facts)
    tell(out, end="runs")


def walk(top: str) -> Iterator[Tuple[str, os.stat_result]]:
    """What is no directory, in the order of names. What cannot be read is left out."""
    waiting = [top]
    while waiting:
        found = []
        try:
            with os.scandir(waiting.pop()) as entries:
                for each in entries:
                    beat()
                    found.append(each)
        except OSError:
            continue
        found.sort(key=lambda each: each.name)
        for each in found:
            try:
                if each.is_dir(follow_symlinks=False):
                    waiting.append(each.path)
                else:
                    yield each.path, each.stat(follow_symlinks=False)
            except OSError:
                continue


def list_files(root: str, below: str, most: int, out: BinaryIO) -> None:
    top = os.path.join(root, below) if below else root
    files = others = 0
    for path, facts in walk(top) if is_within(root, top) else ():
        if not stat.S_ISREG(facts.st_mode):
            others += 1
        elif files == most:
            tell(out, end="list", others=others, more=True)
            return
        else:
            files += 1
            tell(out, path=os.path.relpath(path, root), size=facts.st_size, time=facts.st_mtime)
    tell(out, end="list", others=others, more=False)


def is_within(root: str, path: str) -> bool:
    real, top = os.path.realpath(path), os.path.realpath(root)
    return real == os.path.join(top, os.path.relpath(path, root)) or real == top


def send_file(root: str, path: str, begin: int, out: BinaryIO) -> None:
    """The file as it is when it is opened: what is written behind that size is not sent."""
    whole = os.path.join(root, path)
    try:
        if not is_within(root, whole) or not stat.S_ISREG(os.lstat(whole).st_mode):
            tell(out, end="get", problem="is no file any more")
            return
        file = open(whole, "rb", 0)
    except (OSError, ValueError) as error:
        tell(out, end="get", problem=getattr(error, "strerror", None) or str(error))
        return
    with file:
        before = os.fstat(file.fileno())
        begin = begin if 0 < begin <= before.st_size else 0
        tell(out, size=before.st_size, time=before.st_mtime, **{"from": begin})
        digest, done, problem = hashlib.sha256(), 0, ""
        while done < before.st_size:
            try:
                block = file.read(min(BLOCK, (begin if done < begin else before.st_size) - done))
            except OSError as error:
                block, problem = b"", error.strerror or str(error)
            if not block:
                break
            beat()
            digest.update(block)
            if done >= begin:
                out.write(block)
            done += len(block)
        short = before.st_size - max(done, begin)
        for _ in range(0, short, BLOCK):  # it was cut, or cannot be read: the answer keeps its length
            out.write(b"\0" * min(BLOCK, short))
            short -= BLOCK
        after = os.fstat(file.fileno())
        changed = (after.st_size, after.st_mtime) != (before.st_size, before.st_mtime)
        tell(out, end="get", sha256=digest.hexdigest(), changed=changed, problem=problem)


def serve(root: str) -> None:
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        asked = json.loads(line.decode("ascii"))
        if "runs" in asked:
            list_runs(root, out)
        elif "list" in asked:
            list_files(root, asked["list"], asked["most"], out)
        else:
            send_file(root, asked["get"], asked["from"], out)
        out.flush()


def wait(seconds: float) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    alone = 0.0
    while alone < seconds:
        time.sleep(LOOK_SECONDS)
        others = [each for each in os.listdir("/proc") if each.isdigit() and int(each) not in (1, os.getpid())]
        alone = 0.0 if others else alone + LOOK_SECONDS


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        wait(float(sys.argv[2]))

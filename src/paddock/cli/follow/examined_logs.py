"""The files of `paddock doctor --log`: read in pieces, decoded as far as they can be, and told from what is no log."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from paddock.cli.cluster.errors import UserError
from paddock.cli.output.findings import Subject
from paddock.doctor.asked import Asked
from paddock.doctor.examine import examine, name_logs
from paddock.doctor.launch_block import LaunchLog, LogReader
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, counted, phrase
from paddock.words.sentences import quoted

STDIN = "-"
Report = Callable[[str, int], None]
"""(file, bytes read so far)"""
_CHUNK = 1 << 20
_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"PK\x03\x04": "zip", b"\xfd7zXZ": "xz"}
_ENCODINGS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
"""PowerShell's `>` writes UTF-16. Without a mark, what is no UTF-8 is replaced: launchers print ASCII."""


def examine_files(files: Sequence[str], report: Report) -> Subject:
    """Several files are the hosts of one run. Raises `UserError` for a file that cannot be read, or is no log of a
    launcher."""
    found: dict[str, LaunchLog] = {}
    lines = 0
    for file in files:
        logs, count = _read(file, report)
        lines += count
        if not any(log.is_known for log in logs):
            raise UserError(explain_no_log(file, logs, count))
        for name, log in name_logs(logs).items():
            found[_name(file, name) if len(files) > 1 else name] = log
    looked = phrase(
        "{lines} of {launchers}",
        lines=counted("{count} line", "{count} lines", count=lines),
        launchers=counted("{count} launcher", "{count} launchers", count=len(found)),
    )
    return Subject(", ".join(files), examine(Asked(), found), looked)


def _name(file: str, source: str) -> str:
    """`host1.log` -> `host1`; with several hosts in it `host1.log/worker-0`."""
    stem = "stdin" if file == STDIN else Path(file).name.removesuffix(".log")
    return f"{stem}/{source}" if source else stem


def _read(file: str, report: Report) -> tuple[tuple[LaunchLog, ...], int]:
    reader = LogReader()
    try:
        if file == STDIN:
            _feed(reader, file, sys.stdin.buffer, report)
        else:
            with Path(file).open("rb") as opened:
                _feed(reader, file, opened, report)
    except OSError as error:
        raise UserError(phrase("{file} cannot be read: {why}", file=file, why=explain_unreadable(error))) from None
    logs = reader.build()
    return logs, reader.number


def _feed(reader: LogReader, file: str, opened: BinaryIO, report: Report) -> None:
    first = opened.read(_CHUNK)
    packed = next((name for begin, name in _PACKED.items() if first.startswith(begin)), "")
    if packed:
        raise UserError(phrase("{file} is packed ({kind}): unpack it first", file=file, kind=packed))
    encoding = next((name for mark, name in _ENCODINGS if first.startswith(mark)), "utf-8")
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    rest, size = "", 0
    for chunk in _pieces(first, opened):
        size += len(chunk)
        *lines, rest = (rest + decoder.decode(chunk)).split("\n")
        reader.feed(lines)
        rest = rest[-_CHUNK:]
        report(file, size)
    rest += decoder.decode(b"", final=True)
    if rest:
        reader.feed([rest])


def _pieces(first: bytes, opened: BinaryIO) -> Iterator[bytes]:
    chunk = first
    while chunk:
        yield chunk
        chunk = opened.read(_CHUNK)


def explain_no_log(file: str, logs: Sequence[LaunchLog], lines: int) -> Phrase:
    """What was found in place of a launcher's lines, and what these look like. Pure."""
    if not lines:
        return phrase("{file} is empty: the launcher has printed nothing into it", file=file)
    last = next((log.last_text for log in reversed(logs) if log.last_text.strip()), "")
    return phrase(
        "{file} is no log of a launcher: {lines}, the last of them {last}. A log of PaddlePaddle's launcher has lines "
        "such as `LAUNCH INFO … nnodes: 2` and `Watching Pod`, one of torchrun has `torch.distributed`; of a job, "
        "`paddock logs JOB --raw` prints them, or `paddock doctor JOB` reads them itself",
        file=file, lines=counted("{count} line", "{count} lines", count=lines), last=quoted(last.strip()[:80]),
    )  # fmt: skip

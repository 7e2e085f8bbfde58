"""The operator's log: one JSON object per line for log collectors, or plain lines for a person.

A line about a job has its name as a field, taken from a `JobRef` among the message's arguments. Servers, programs and
users write a part of what is logged, and `kubectl logs` brings it to a terminal: what one acts on is escaped in both.
"""

from __future__ import annotations

import json
import logging
import time
from typing import Any, Literal, TextIO

from paddock.kube.printable import show, show_line
from paddock.kube.times import format_micro_time
from paddock.operator.job_state import JobRef

Format = Literal["json", "text"]


class JsonLines(logging.Formatter):
    """`{"ts": …, "level": "info", "logger": …, "msg": …, "job": {"kind": …, "namespace": …, "name": …}}`"""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "ts": format_micro_time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        arguments = record.args if isinstance(record.args, tuple) else ()
        if (ref := next((each for each in arguments if isinstance(each, JobRef)), None)) is not None:
            resource, key = ref
            line["job"] = {
                "kind": resource.kind, "group": resource.group, "namespace": key.namespace, "name": key.name,
            }  # fmt: skip
        # A traceback is a field of its line, so that one record stays one line.
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        text = json.dumps(line, ensure_ascii=False, default=str)
        # JSON has an escape for each of them, and RFC 8259 demands it of those below U+0020 alone.
        return text if show(text) == text else json.dumps(line, default=str)


class PlainLines(logging.Formatter):
    """`2026-01-01T00:00:00Z INFO paddock.operator …`, and a traceback on lines of its own. Times are in UTC."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
        self.converter = time.gmtime

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        return show_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        return show(super().formatException(ei))


def start_logging(stream: TextIO, form: Format, level: int = logging.INFO) -> None:
    """Sends records of `level` and above to `stream`, with times in UTC."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines() if form == "json" else PlainLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)

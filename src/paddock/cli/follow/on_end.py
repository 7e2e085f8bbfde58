"""`paddock run --on-end`: a command or a web address that is called once when the job has ended.

It changes neither the job nor the exit code: what goes wrong with it is one line. The command is started without a
shell; a web address gets a POST and is never printed whole, as those of chat programs are secrets. Feishu, DingTalk,
WeCom and Slack get a message of their own form (`jobs.sentences.chat_bodies`).
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from paddock.cli.cluster.errors import UserError
from paddock.jobs.ended import End
from paddock.jobs.sentences.chat_bodies import LARGEST, build_body, build_chat_body, read_refusal
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, phrase

COMMAND_SECONDS, GRACE_SECONDS, WEB_SECONDS = 60.0, 3.0, 10.0


@dataclass(frozen=True, slots=True)
class Program:
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Webhook:
    url: str

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc.rpartition("@")[2]


OnEnd: TypeAlias = Program | Webhook


def read_on_end(text: str, search: str | None = None) -> OnEnd:
    """The value of --on-end. `search`: PATH, None for this process's. Raises `UserError`."""
    scheme, slashes, _ = text.partition("://")
    if slashes and scheme.isalnum():
        return _read_webhook(text, scheme.lower())
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UserError(phrase("--on-end {text}: {problem}", text=text, problem=str(error))) from None
    if not words:
        raise UserError(phrase("--on-end: a command or a web address is wanted"))
    if shutil.which(words[0], path=search) is None:
        raise UserError(phrase("--on-end: there is no program {word}", word=words[0]))
    return Program(words)


def _read_webhook(text: str, scheme: str) -> Webhook:
    if scheme not in ("http", "https"):
        raise UserError(phrase("--on-end: found {scheme}://; http:// and https:// are allowed", scheme=scheme))
    try:
        hook = Webhook(text)
        has_host = bool(urlsplit(text).hostname) and urlsplit(text).port != 0
    except ValueError:
        has_host = False
    if not has_host or not text.isascii() or any(each.isspace() for each in text):
        raise UserError(phrase("--on-end: a web address with a host is wanted, such as https://example.org/hook"))
    return hook


def build_environment(end: End) -> dict[str, str]:
    """What the command finds in its environment, beside its own."""
    return {
        "PADDOCK_JOB": end.job,
        "PADDOCK_NAMESPACE": end.namespace,
        "PADDOCK_PHASE": end.phase,
        "PADDOCK_CAUSE": end.cause.replace("\0", ""),
        "PADDOCK_SECONDS": f"{end.seconds:.1f}",
    }


def call_on_end(on_end: OnEnd, end: End, seconds: float = COMMAND_SECONDS) -> Phrase | None:
    """Calls it and waits for its end; what went wrong. `seconds`: after which a command is ended, with all that it has
    started."""
    if isinstance(on_end, Program):
        return _start(on_end, end, seconds)
    return _post(on_end, end)


def _start(program: Program, end: End, seconds: float) -> Phrase | None:
    name = program.words[0]
    try:
        process = subprocess.Popen(
            program.words, env={**os.environ, **build_environment(end)}, stdin=subprocess.DEVNULL, process_group=0
        )
    except OSError as error:
        return phrase("--on-end {name}: {problem}", name=name, problem=explain_unreadable(error))
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        kill(process)
        return phrase(
            "--on-end {name}: it ran longer than {seconds} s and was ended", name=name, seconds=f"{seconds:.0f}"
        )
    except BaseException:  # Ctrl-C, which a group of its own does not get
        kill(process)
        raise
    return phrase("--on-end {name}: it ended with exit code {code}", name=name, code=code) if code else None


def kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a command that leads a process group, with what it has started, unless it has ended by itself."""
    if process.returncode is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    # Its group is there as long as it was not waited for.
    while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _post(hook: Webhook, end: End) -> Phrase | None:
    # late, as few commands have it
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Refused(HTTPRedirectHandler):
        """A redirected POST would arrive as a GET without its body."""

        def redirect_request(self, *args: object) -> None:
            return None

    headers = {"Content-Type": "application/json", "User-Agent": "paddock"}
    body = build_chat_body(hook.host, end) or build_body(end)
    request = Request(hook.url, body, headers, method="POST")  # noqa: S310 - http and https alone
    try:
        with build_opener(Refused).open(request, timeout=WEB_SECONDS) as answer:
            refused = read_refusal(hook.host, answer.read(LARGEST))
    except HTTPError as error:
        error.close()
        return phrase("--on-end {name}: it answered {code}", name=hook.host, code=error.code)
    except (URLError, OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        why = getattr(reason, "strerror", None) or str(reason) or type(error).__name__
        return phrase("--on-end {name}: {problem}", name=hook.host, problem=why)
    return phrase("--on-end {name}: it answered {code}", name=hook.host, code=refused) if refused else None

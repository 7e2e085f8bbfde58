"""What chat programs want of a message that comes by a web address, and how they say that they did not take it. Pure.

Chosen by the host of the address; any other host gets `build_body`. `paddock run --on-end` and the operator's notices
send the same. Each answers 200 also to what it refuses, with its own code in the body. Sources: the
pages of custom bots of Feishu and Lark, DingTalk and WeCom, and of incoming webhooks of Slack.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from paddock.jobs.ended import End
from paddock.kube.times import format_duration

LARGEST = 64 << 10
"""Bytes of an answer that are read."""
_LONGEST = 1_000
"""Characters of the cause."""


def build_text(end: End) -> str:
    """`Paddock default/train: Failed (12s): worker-0 failed: ValueError: …`; the cause is in the reader's language."""
    cause = f": {end.cause[:_LONGEST]}" if end.cause else ""
    return f"Paddock {end.namespace}/{end.job}: {end.phase} ({format_duration(end.seconds)}){cause}"


_FORMS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "open.feishu.cn": lambda text: {"msg_type": "text", "content": {"text": text}},
    "open.larksuite.com": lambda text: {"msg_type": "text", "content": {"text": text}},
    "oapi.dingtalk.com": lambda text: {"msgtype": "text", "text": {"content": text}},
    "qyapi.weixin.qq.com": lambda text: {"msgtype": "text", "text": {"content": text}},
    "hooks.slack.com": lambda text: {"text": text},
}


def build_body(end: End) -> bytes:
    """What any other web address gets, in JSON."""
    body = {
        "job": end.job,
        "namespace": end.namespace,
        "phase": end.phase,
        "cause": end.cause,
        "seconds": round(end.seconds, 1),
    }
    return json.dumps(body, ensure_ascii=False).encode()


def build_chat_body(host: str, end: End) -> bytes | None:
    """The message for the chat program at this host; None for any other host."""
    form = _FORMS.get(host.partition(":")[0].lower())
    return json.dumps(form(build_text(end)), ensure_ascii=False).encode() if form is not None else None


def read_refusal(host: str, answer: bytes) -> str:
    """Why the chat program at this host did not take the message: `19024: Key Words Not Found`; empty where it did."""
    if host.partition(":")[0].lower() not in _FORMS:
        return ""
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(said, dict):
        return ""
    code = said.get("errcode", said.get("code", said.get("StatusCode", 0)))
    why = said.get("errmsg") or said.get("msg") or said.get("StatusMessage") or ""
    return f"{code}: {str(why)[:200]}" if code not in (0, "0", None) else ""

"""What chat programs get of --on-end, and what they answer. The bodies are those of their pages about custom bots."""

from __future__ import annotations

import json
from typing import Any

import pytest

from paddock.jobs.ended import End
from paddock.jobs.sentences.chat_bodies import build_chat_body, build_text, read_refusal

END = End("train", "default", "Failed", "worker-0 failed: ValueError: 数据", 12.0)
TEXT = "Paddock default/train: Failed (12s): worker-0 failed: ValueError: 数据"


@pytest.mark.parametrize(
    ("host", "body"),
    [
        ("open.feishu.cn", {"msg_type": "text", "content": {"text": TEXT}}),
        ("open.larksuite.com:443", {"msg_type": "text", "content": {"text": TEXT}}),
        ("oapi.dingtalk.com", {"msgtype": "text", "text": {"content": TEXT}}),
        ("qyapi.weixin.qq.com", {"msgtype": "text", "text": {"content": TEXT}}),
        ("Hooks.Slack.com", {"text": TEXT}),
        ("example.org", None),
        ("open.feishu.cn.example.org", None),
    ],
)
def test_the_body_is_chosen_by_the_host(host: str, body: dict[str, Any] | None) -> None:
    built = build_chat_body(host, END)
    assert (json.loads(built) if built is not None else None) == body


def test_a_long_cause_is_cut_and_a_good_end_has_none() -> None:
    assert build_text(End("a", "b", "Completed", "", 61.0)) == "Paddock b/a: Completed (61s)"
    assert len(build_text(End("a", "b", "Failed", "x" * 9_000, 1.0))) < 1_100


@pytest.mark.parametrize(
    ("host", "answer", "said"),
    [
        ("open.feishu.cn", b'{"code":0,"msg":"success"}', ""),
        ("open.feishu.cn", b'{"code":19024,"msg":"Key Words Not Found"}', "19024: Key Words Not Found"),
        ("oapi.dingtalk.com", b'{"errcode":310000,"errmsg":"no keyword"}', "310000: no keyword"),
        ("qyapi.weixin.qq.com", b'{"errcode":0,"errmsg":"ok"}', ""),
        ("qyapi.weixin.qq.com", b'{"errcode":93000,"errmsg":"invalid webhook url"}', "93000: invalid webhook url"),
        ("hooks.slack.com", b"ok", ""),
        ("oapi.dingtalk.com", b"[" * 9_000, ""),
        ("oapi.dingtalk.com", b"\xff", ""),
        ("oapi.dingtalk.com", b"[]", ""),
        ("example.org", b'{"errcode":1}', ""),
    ],
)  # fmt: skip
def test_a_refusal_in_an_answer_of_200_is_read(host: str, answer: bytes, said: str) -> None:
    assert read_refusal(host, answer) == said

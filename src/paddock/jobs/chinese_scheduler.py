"""The scheduler's own sentences in Chinese, by their form.

They come from kube-scheduler or from the local one as English text with numbers, in the status of pods: only the text
is there. What has no row stays as it is. Source of the forms: kube-scheduler, and `paddock.node.rooms`.
"""

from __future__ import annotations

import re

_FORMS: tuple[tuple[str, str], ...] = (
    (r"^no nodes available to schedule pods$", "没有任何节点"),
    (
        r"waiting for the gang \"([^\"]+)\": (\d+) pods are needed at once, (\d+) fit: ",
        r"\2 个 Pod 须同时放下，现能放下 \3 个：",
    ),
    (
        r"waiting for the gang \"([^\"]+)\": (\d+) pods are needed at once, (\d+) exist",
        r"\2 个 Pod 须同时放下，现有 \3 个",
    ),
    (r"waiting for the PodGroup \"([^\"]+)\", which does not exist yet", r"等待 PodGroup \1，它尚不存在"),
    (r"held back for the (gang|pod) \"([^\"]+)\", which has waited longer and lacks ", r"让位于等待更久的 \2，它缺少 "),
    (r"0/(\d+) nodes are available: ", r"\1 个节点都不满足要求："),
    (
        r"(\d+) Insufficient ([^\s,(]+) \((on [^:]+: )?needs ([^,]+), (.+?) of (.+?) free\)",
        r"\2 不足（需要 \4，共 \6，空闲 \5）",
    ),
    (r"(\d+) Insufficient ([^\s,(]+)", r"\1 个节点的 \2 不足"),
    (r"(\d+) Too many pods( \([^)]*\))?", r"\1 个节点的 Pod 数已满"),
    (
        r"\d+ node\(s\) didn't match Pod's node affinity/selector \((on [^:]+: )?(.+?); node has none\)",
        r"没有节点带有标签 \2",
    ),
    (
        r"\d+ node\(s\) didn't match Pod's node affinity/selector \((on [^:]+: )?(.+?); node has (.+?)\)",
        r"没有节点带有标签 \2（节点上是 \3）",
    ),
    (r"(\d+) node\(s\) didn't match Pod's node affinity/selector", r"\1 个节点的标签不符合 nodeSelector 或 affinity"),
    (r"(\d+) node\(s\) had untolerated taint \{([^}]*)\}", r"\1 个节点带有未被容忍的污点 \2"),
    (r"(\d+) node\(s\) were unschedulable( \([^)]*\))?", r"\1 个节点已停止调度\2"),
    (r"(\d+) node\(s\) were not ready", r"\1 个节点未就绪"),
    (
        r"(\d+) node\(s\) didn't have free ports for the requested pod ports "
        r"\((on [^:]+: )?port (\d+) is held by (.+?)\)",
        r"端口 \3 已被 \4 占用",
    ),
)
_ROWS = tuple((re.compile(form), text) for form, text in _FORMS)


def translate_scheduler(message: str) -> str:
    """The sentence in Chinese as far as its form is known; another text unchanged."""
    result = message
    for form, text in _ROWS:
        result = form.sub(text, result)
    return result if result == message else result.replace(", ", "，")

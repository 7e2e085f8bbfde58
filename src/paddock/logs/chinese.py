"""A line in which a training program prints Chinese -> the same with its words apart, for `line_numbers`. Pure.

    第1/3轮，第 5/13 步，损失：0.6456  ->  epoch 1/3, step 5/13, 损失:0.6456

Chinese has no blanks between words: the terms of a training are found in it, the longest first, and stand apart then.
What they mean in English is looked up where a name is read (`number_names.normalize`), so that a number is kept under
the name that was printed.
"""

from __future__ import annotations

import re

_MEANINGS = {
    "epoch": "轮次 轮数 周期 轮", "step": "步数 步骤 步", "global step": "全局步数", "iter": "迭代次数 迭代",
    "batch": "批次 批", "batch_size": "批大小 批量大小", "train": "训练集 训练", "val": "验证集 验证", "eval": "评估",
    "test": "测试集 测试", "avg": "平均", "current": "当前", "total": "总",
    "best": "最佳 最好 最优 最高 最低 最小 最大", "target": "目标", "initial": "初始", "threshold": "阈值",
    "from": "从", "loss": "损失值 损失", "loss fn": "损失函数", "loss weight": "损失权重",
    "accuracy": "准确率 准确度 正确率 精确度 精度", "lr": "学习率 学习速率", "grad norm": "梯度范数",
    "error": "误差率 误差 错误率",
    "recall": "召回率", "precision": "精确率", "perplexity": "困惑度", "reward": "奖励", "throughput": "吞吐量 吞吐",
    "speed": "速度", "samples per second": "每秒样本数", "time": "耗时 用时 时间", "eta": "剩余时间",
    "gpu memory": "显存", "memory": "内存", "not": "没有 无法", "if": "如果",
    "should": "应该", "because": "因为",
}  # fmt: skip
TERMS = {word: meaning for meaning, words in _MEANINGS.items() for word in words.split()}
NAMES = tuple(term for term, meaning in TERMS.items() if meaning in ("loss", "accuracy"))
SIGNS = (*NAMES, "误差", "召回率", "精确率", "困惑度", "奖励")
"""Of each form of a metric."""
_IS_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_WIDE = str.maketrans(
    {"，": ", ", "、": ", ", "；": "; ", "。": "; ", "！": "; ", "：": ":", "＝": "=", "（": "(", "）": ")",
     "【": "[", "】": "]", "｜": "|", "／": "/", "％": "%", "\u3000": " "}
)  # fmt: skip
_TERM = re.compile("|".join(sorted(TERMS, key=len, reverse=True)))
_TERMS = re.compile(rf" ?((?:{_TERM.pattern})++)(?:上?+的)?+(?=(\w)?)")
_VALUE = re.compile(
    r"(?<=[A-Za-z\u4e00-\u9fff]) ?+(?:的?+值)?+(?:(?P<is>为|是|达到)(?= ?+[:=]? ?+\d)|(?<=值)(?=[ :=\d]))"
)
_FAILS = re.compile(r"\s*(?:错误|异常|失败)\s*[:：]")
_COUNTED = {"轮": "epoch", "e": "epoch", "批": "batch", "b": "batch"}
"""By the first letter of what is counted; others are steps."""
_COUNT = re.compile(
    r"(?:(?:第|已训练|已完成) ?+(?P<at>\d{1,9}+)|(?:第 ?+)?(?P<done>\d{1,9}+) ?+/ ?+(?P<of>\d{1,9}+)) ?+"
    r"(?:个 ?+)?(?P<what>轮|[Ee]poch|步|次迭代|次|批次|批|[Bb]atch|[Ss]tep)"
    r"(?: ?+[/(,] ?+共 ?+(?P<all>\d{1,9}+) ?+轮\)?+)?+[,:]?+"
)
_UNITS = re.compile(r"(?<=\d) ?+(毫秒/步|秒/步|毫秒|秒|分钟?+|小时|样本/秒|张/秒|条/秒|步/秒|次/秒)(?=(\w)?)")
_UNIT = {
    "毫秒/步": "ms/step", "秒/步": "s/step", "毫秒": "ms", "秒": "s", "分": "min", "分钟": "min", "小时": "h",
    "样本/秒": "samples/s", "张/秒": "images/s", "条/秒": "samples/s", "步/秒": "steps/s", "次/秒": "it/s",
}  # fmt: skip


def separate_words(text: str) -> str:
    """The line with its counts in English, its terms apart, and the marks that ASCII has. Of other lines the same."""
    if text.isascii() or _IS_CHINESE.search(text) is None:
        return text
    text = _COUNT.sub(_tell_count, text.translate(_WIDE))
    text = _UNITS.sub(lambda found: f" {_UNIT[found[1]]}{' ' if found[2] else ''}", text)
    return _TERMS.sub(_separate, _VALUE.sub(lambda found: "=" if found["is"] else "", text))


def tells_error(text: str) -> bool:
    """Whether the line begins so. 异常 is also a part of other words: of samples, 异常样本数."""
    return not text.isascii() and _FAILS.match(text) is not None


def _tell_count(found: re.Match[str]) -> str:
    name = _COUNTED.get(found["what"][0].lower(), "step")
    of = found["of"] or found["all"]
    return f" {name} {found['at'] or found['done']}{f'/{of}' if of else ''}, "


def _separate(found: re.Match[str]) -> str:
    return f" {' '.join(_TERM.findall(found[1]))}{' ' if found[2] else ''}"


def to_english(name: str) -> str:
    """The name of a number; an unknown word stays as it is."""
    if name.isascii() or _IS_CHINESE.search(name) is None:
        return name
    return " ".join(_TERM.sub(lambda found: f" {TERMS[found[0]]} ", name).split())

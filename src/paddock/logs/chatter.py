"""The lines that launchers and libraries print of themselves, as a table of forms. Pure.

Each form is anchored: it begins with a literal, and the rest is what its program writes and a user's script does not.
`INFO …` alone is nobody's form, `INFO 2026-11-20 15:59:25,731 launch.py:530] …` is that of PaddlePaddle's launcher. A
line of level ERROR or FATAL has no form here. Sources: logs of PaddlePaddle 3.0 and 3.3, PyTorch 2.13, and the `print`
calls in `paddle/distributed/{fleet,ps}` of 3.0.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

LAUNCHER, LIBRARY, WARNING = "launcher", "library", "warning"
"""Who printed a folded line: a launcher, the C++ or Python of a library, or a library's UserWarning."""


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a folded line, or of a block of them."""

    source: str
    start: str
    line: re.Pattern[str]
    """Matches a whole line that begins with `start`."""
    inner: re.Pattern[str] | None = None
    """Lines of the block that it begins match this."""
    last: re.Pattern[str] | None = None
    """The one that ends the block; None ends it with the first line that is not of it."""
    most: int = 400
    """Lines of the block."""


class _Written(NamedTuple):
    """A form before its expressions are compiled; the fields are those of `_form`."""

    source: str
    start: str
    rest: str
    inner: str
    last: str
    most: int


def _form(source: str, start: str, rest: str = ".*", inner: str = "", last: str = "", most: int = 400) -> _Written:
    return _Written(source, start, rest, inner, last, most)


def _compile(form: _Written) -> Form:
    whole = re.compile(re.escape(form.start) + form.rest, re.DOTALL)
    inner = re.compile(form.inner) if form.inner else None
    return Form(form.source, form.start, whole, inner, re.compile(form.last) if form.last else None, form.most)


_DATE = r"\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[,.]\d+)?"
"""The date and time of Python's loggers, after the `20` of its year."""
_PADDLE_FILES = (
    r"(?:launch|launch_utils|cloud_utils|ascend_utils|elastic|manager|topology|fleet|distributed_strategy|"
    r"strategy_compiler|role_maker|hybrid_parallel_util|pipeline_parallel|sharding_optimizer|dygraph_sharding_\w+|"
    r"group_sharded\w*|tensor_parallel|recompute|timer_helper|pp_layers|the_one_ps)\.py"
)
"""Modules of paddle.distributed that log by its own logger (`fleet/utils/log_util.py`)."""
_LOCAL = r"launch_utils\.py:\d+(?:\]| -) Local \w+ start \d+ processes\..*"
_TABLE = r" {4}[+|=].*[+|=]\s*$|$"
"""Lines of the table of variables that `launch_utils` prints, and the blank line after it."""
_CPP = r"[\w./-]+\.(?:cc|cpp|cxx|cu|cuh|h|hpp):\d+\] "
"""A source file of C++ and its line. Python's absl writes the same form with `train.py:12]`, which is the user's."""
_QUIET_LIBRARIES = (
    "httpx|httpcore|urllib3|requests|huggingface_hub|modelscope|filelock|fsspec|aiohttp|botocore|boto3|s3transfer|"
    "matplotlib|PIL|numexpr|h5py|jieba|asyncio|pyarrow|numba"
)
_NAMED = rf"(?:{_QUIET_LIBRARIES})(?:\.[\w.]+)?"
"""The logger of a library whose INFO is no news to who trains."""
_WARNING_LIBRARIES = (
    "paddle|paddlenlp|paddleslim|paddlex|visualdl|numpy|google|requests|urllib3|huggingface_hub|pkg_resources|"
    "setuptools|_distutils_hack|networkx|astor|opt_einsum|decorator|torch|torchvision|transformers|tensorboard|"
    "aistudio_sdk|sklearn|pandas|scipy|jieba|matplotlib|PIL|httpx|datasets|fsspec"
)
_WARNED = "(?:User|Future|Deprecation|PendingDeprecation|Syntax|Import|RequestsDependency)Warning"
_REQUEST = r'HTTP Request: [A-Z]+ https?://\S+ "HTTP/\S+ (?:[123]\d\d|404)[^"]*"'

_ENDPOINTS = r"\['[\w.:-]+:\d+'(?:, '[\w.:-]+:\d+')*\]"
"""What the launcher prints, without its name, below the line that says that it read them."""

_LAUNCH = (
    _form(
        LAUNCHER, "LAUNCH INFO 20", rf"{_DATE} args reset by env PADDLE_TRAINER_ENDPOINTS", _ENDPOINTS, _ENDPOINTS, 1
    ),
    _form(LAUNCHER, "LAUNCH INFO "),
    _form(LAUNCHER, "LAUNCH DEBUG "),
    _form(LAUNCHER, "LAUNCH WARNING args ", r"\w+ will be overridden by env: .*"),
    _form(
        LAUNCHER,
        "LAUNCH WARNING 20",
        rf"{_DATE} (?:Host ip reset to|master not ready|peer not ready|Compatible mode enable with args).*",
    ),
    _form(LAUNCHER, "-----------  Configuration Arguments -----------", r"\s*", r"\w+:(?: .*)?$", r"-{20,}$"),
    _form(LAUNCHER, "-----------  Configuration  -----", r"-*\s*", r"\w+:(?: .*)?$", r"-{20,}$"),
    *(_form(LAUNCHER, f"{level} 20", rf"{_DATE} {_LOCAL}", _TABLE, "$") for level in ("INFO", "WARNING")),
    _form(LAUNCHER, "[20", rf"{_DATE}\] \[ *INFO\] {_LOCAL}", _TABLE, "$"),
    *(_form(LAUNCHER, f"{level} 20", rf"{_DATE} {_PADDLE_FILES}:\d+\] .*") for level in ("INFO", "WARNING", "DEBUG")),
    _form(LAUNCHER, "[20", rf"{_DATE}\] \[ *(?:INFO|WARNING|DEBUG)\] {_PADDLE_FILES}:\d+ - .*"),
    _form(LAUNCHER, "launch train in ", r"(?:CPU|GPU|XPU)(?: mode!?)|heter mode with (?:GPU|XPU) device\."),
    _form(LAUNCHER, "launch proc_id:", r"\d+ idx:\d+"),
    _form(LAUNCHER, "WARNING: OMP_NUM_THREADS set to ", r".*\bnot \d.*"),
    _form(LAUNCHER, "PLEASE USE OMP_NUM_THREADS WISELY."),
)
_CPP_LINES = (
    *(_form(LIBRARY, each, rf"\d{{3}} \d\d:\d\d:\d\d\.\d+ +\d+ {_CPP}.*") for each in ("I0", "I1", "W0", "W1")),
    *(_form(LIBRARY, f"{level}0000 00:00:", rf"\d+\.\d+ +\d+ {_CPP}.*") for level in "IW"),
    *(_form(LIBRARY, f"[{level}", rf"\d{{3,4}} \d\d:\d\d:\d\d\.\d+ {_CPP}.*") for level in "IW"),
    *(
        _form(LAUNCHER, each, r"\d{3} \d\d:\d\d:\d\d\.\d+ +\d+ torch/[\w./-]+\.py:\d+\] .*")
        for each in ("I0", "I1", "W0", "W1")
    ),
    _form(LIBRARY, "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR"),
    _form(LIBRARY, "WARNING: Logging before InitGoogleLogging() is written to STDERR"),
    _form(LIBRARY, "[Gloo] Rank ", r"\d+ is connected to \d+ peer ranks\..*"),
    _form(
        LIBRARY, "======================= Modified FLAGS detected =======================", r"\s*",
        r"FLAGS\(name=.*\)\s*", r"={20,}\s*",
    ),
)  # fmt: skip
_PARAMETER_SERVERS = (
    _form(LIBRARY, "fl-ps > ", r"(?:coordinator address is null!|with_coordinator\? (?:True|False))"),
    _form(LIBRARY, "fl-ps > ", r"(?:local_sparse|all ps addrs|trainer_endpoint|coordinator addr): .*"),
    _form(LIBRARY, "Gloo init with ", r"[A-Z]+: need_init_all: .*"),
    _form(LIBRARY, "valid_optimizer_list= ", r"\[.*"),
    _form(LIBRARY, "meta_optimizer= ", r"(?:None|<paddle\..*)"),
    _form(LIBRARY, "graph_optimizer= ", r"(?:None|<paddle\..*)"),
    _form(LIBRARY, "is_heter_ps_mode", r"(?:\?| in distributed_ops_pass) (?:True|False)\??"),
    _form(LIBRARY, "public get_the_", r"(?:one|geo)_send_context sparse: .*"),
    _form(LIBRARY, "public build_var_distributed ", r"\w+: .*"),
    _form(LIBRARY, "ShowClickEntry not configured, will not use"),
    _form(LIBRARY, "debug zcb slots: ", r" \[.*"),
    _form(LIBRARY, "remote_optimize_vars: ", r"\[.*"),
    _form(LIBRARY, "paddle.static.default_startup_program: ", r"(?:<function|None|\{).*"),
    _form(
        LIBRARY, "idx, name, ctx: ", r"\d+ \S+ varname: .*",
        r" (?:table_id|program_id|is_tensor_table|is_datanorm_table): \d+$|$", "$", 6,
    ),
    _form(LIBRARY, "adam_d2sum: ", "(?:True|False)"),
    _form(LIBRARY, "optimization algorithm is not adam, set adam_d2sum False"),
    _form(LIBRARY, "new table_name: ", r"\S+"),
    _form(LIBRARY, "new var: ", r"(?:persist )?(?:trainable )?param .*"),
    _form(LIBRARY, "communicator config: ", r"\{.*"),
    _form(LIBRARY, "create c2c connection done"),
    _form(LIBRARY, "entering self._init_all_params()"),
    _form(LIBRARY, "worker_key:", r"\w+, size: \{.*"),
    _form(LIBRARY, "to start http_server"),
    _form(LIBRARY, "start http_server: ", r"\d+, \{.*"),
    _form(LIBRARY, "program checked valid"),
)  # fmt: skip
_PYTHON_LIBRARIES = (
    *(_form(LIBRARY, f"{level}:", rf"{_NAMED}:.*") for level in ("INFO", "DEBUG")),
    _form(LIBRARY, "20", rf"{_DATE}[ \-|:]+{_NAMED}[ \-|:]+(?:INFO|DEBUG)\b.*"),
    _form(LIBRARY, "20", rf"{_DATE}[ \-|:]+[\[(]?(?:INFO|DEBUG)[\])]?[ \-|:]+{_NAMED}[ \-|:\]].*"),
    *(_form(LIBRARY, start, rf"[^\"]{{0,120}}{_REQUEST}") for start in ("20", "[20", "INFO", "[INFO")),
    _form(LIBRARY, "HTTP Request: ", _REQUEST.removeprefix("HTTP Request: ")),
    _form(
        WARNING, "/", rf"[^:]*/(?:site|dist)-packages/(?:{_WARNING_LIBRARIES})(?:/[^:]*|\.py):\d+: {_WARNED}: .*",
        r" {2}\S.*", r" {2}\S.*", 1,
    ),
    _form(WARNING, "grep: warning: GREP_OPTIONS is deprecated"),
)  # fmt: skip
_NVIDIA = (
    _form(LIBRARY, "| NVIDIA-SMI ", r".*\|\s*", r"[|+].*[|+]\s*"),
    # the library by which AI Lab's clusters share a GPU
    *(
        _form(LIBRARY, f"[HAMI-core {level}(", r"\d+:\d+:[\w./-]+:\d+\)\]: .*")
        for level in ("Msg", "Info", "Warn", "Debug")
    ),
)
_TORCH = (
    # torchrun before 2.4 and before 2.1
    _form(LAUNCHER, "[20", rf"{_DATE}\] torch\.distributed\.[\w.]+: \[(?:INFO|WARNING)\] .*"),
    _form(
        LAUNCHER, "WARNING:torch.distributed.run:", r"\s*",
        r"\*{41}|Setting OMP_NUM_THREADS environment variable .*", "", 3,
    ),
    # of `python -m torch.distributed.run`, whose logger has no format
    _form(
        LAUNCHER, "Setting OMP_NUM_THREADS environment variable for each process to be ", r"\d+ in default, .*",
        r"\*{41}", r"\*{41}", 1,
    ),
    _form(LIBRARY, "[rank", rf"\d+\]:\[[IW]\d{{3,4}} \d\d:\d\d:\d\d\.\d+ {_CPP}.*"),
    _form(LIBRARY, "[/", rf"{_CPP}ERROR failed to connect, willRetry=1, .*"),
    # where in C++ an error came from, below the line that says it
    _form(
        LIBRARY, "Exception raised from ", r"\w+ at \S+:\d+ \(most recent call first\):",
        r"frame #\d+: .*|<omitting python frames>|\s*", "", 200,
    ),
    _form(LIBRARY, "NCCL version ", r"\d+\.\d+\S*"),
)  # fmt: skip
_NCCL = _form(LIBRARY, "", r"\S+:\d+:\d+ \[\d+\] NCCL INFO .*")
"""What NCCL_DEBUG=INFO prints; each line begins with the name of its host."""
NCCL_INFO = " NCCL INFO "

_TELLING = re.compile(
    r"not a parallel execution environment|will not do anything|You may be using|falls? back|fallback|"
    r"not available|No .*(?:GPU|CUDA)|cannot|can't|failed|overflow|\bnan\b",
    re.IGNORECASE,
)
"""What a UserWarning may tell that decides what the script does: shown."""

_WRITTEN: dict[str, tuple[_Written, ...]] = {}
for _each in (*_LAUNCH, *_CPP_LINES, *_PARAMETER_SERVERS, *_PYTHON_LIBRARIES, *_NVIDIA, *_TORCH):
    _WRITTEN[_each.start[:2]] = (*_WRITTEN.get(_each.start[:2], ()), _each)
for _second in range(33, 127):  # a path: its form has one character
    _WRITTEN[f"/{chr(_second)}"] = _WRITTEN["/"]

STARTS = frozenset(_WRITTEN)
"""The first two characters of all forms: a line with others, and without `NCCL_INFO`, is nobody's chatter."""


@cache
def _nccl() -> Form:
    return _compile(_NCCL)


@cache
def _forms(start: str) -> tuple[Form, ...]:
    """Compiled when the first line begins so: all of them take longer than the rest of a short command."""
    return tuple(_compile(form) for form in _WRITTEN[start])


def match_chatter(line: str) -> Form | None:
    """The form of `line`, or None."""
    start = line[:2]
    if NCCL_INFO in line and _nccl().line.fullmatch(line):
        return _nccl()
    for form in _forms(start) if start in STARTS else ():
        if line.startswith(form.start) and form.line.fullmatch(line):
            return None if form.source == WARNING and _TELLING.search(line) else form
    return None

"""Variables of the shell that typed a command, which the command reads and was not given. Pure.

A job has no variables of the shell: it runs later, or elsewhere, and again from its manifest. What a shell command
before it would have read is said in one line, with the options that give it; nothing goes along by itself. Named is a
variable that is set in the shell, was not given by --env, --env-file or --secret, and is read:

- by its name, in the command, in a shell script that it starts or in a Python program (`Contents.asked`);
- or by a library of a Python program by itself (`_FAMILIES`), where its modules or the requirements name the library.

Not named is what the command sets itself, what every pod has, what Paddock tells a rank, and what belongs to the
session or the machine of the shell. Of a program that was not read nothing is known, and nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from paddock.script.contents import Contents
from paddock.script.env_file import NAME
from paddock.script.libraries import MODULES
from paddock.script.rank_variables import is_of_tool, tells_place
from paddock.script.request import ScriptRequest
from paddock.script.secrets import is_secret
from paddock.words.phrases import Names, Phrase, phrase

MOST = 6
"""Names in the line."""
_DEVICES = "CUDA_VISIBLE_DEVICES"
_HIDES_DEVICES = ("", "-1")
"""Values by which a pod hides its GPUs, as a shell does."""

_OF_PODS = re.compile(
    r"HOME|USER|LOGNAME|PATH|HOSTNAME|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|PYTHONUNBUFFERED|SSL_CERT_FILE|REQUESTS_CA_BUNDLE"
    r"|(?i:https?_proxy|no_proxy)|KUBERNETES_\w+|PADDOCK_\w+|KUBECONFIG|ACCELERATE_USE_CPU"
)
"""What pods have anyway, and what is Paddock's own (`node.runtime.container_env`, `apiserver`)."""
_OF_SESSIONS = re.compile(
    r"_|PWD|OLDPWD|SHLVL|SHELL|TERM|COLORTERM|COLUMNS|LINES|PS\d|IFS|EDITOR|VISUAL|PAGER|MAIL|DISPLAY|WAYLAND_DISPLAY"
    r"|XAUTHORITY|(XDG_(SESSION|RUNTIME|CURRENT|SEAT)|SSH|DBUS|TMUX|VSCODE)_\w+|VIRTUAL_ENV\w*|_?CONDA_\w+|PYENV_\w+"
    r"|PYTHONHOME"
)
"""What is of the terminal, the login, or the active environment, which is told by itself
(`cli.submit.script.own_environments`)."""


@dataclass(frozen=True, slots=True)
class _Family:
    """Variables that libraries read by themselves."""

    names: re.Pattern[str]
    modules: frozenset[str] = frozenset()
    """Those that read them; empty where any Python program may."""
    several: bool = False
    """Whether they act only where several ranks are, or GPUs."""
    gpus: bool = False
    """Whether they act only on GPUs."""


def _family(names: str, modules: str = "", **kinds: bool) -> _Family:
    return _Family(re.compile(names), frozenset(modules.split()), **kinds)


_TORCH = " ".join(MODULES["pytorch"].own | MODULES["pytorch"].built_on)
_HUB = "accelerate datasets diffusers evaluate huggingface_hub peft sentence_transformers tokenizers transformers trl"
_FAMILIES = (
    _family("PYTHON(PATH|HASHSEED|OPTIMIZE|WARNINGS|FAULTHANDLER|DEVMODE)"),
    _family(_DEVICES),
    _family(r"(OMP|KMP|GOMP|MKL|OPENBLAS|BLIS|NUMEXPR)_\w+"),
    _family(r"CUDA_(LAUNCH_BLOCKING|MODULE_LOADING|CACHE_\w+|DEVICE_MAX_CONNECTIONS)|CUBLAS_\w+|NVIDIA_TF32_OVERRIDE",
            gpus=True),
    _family(r"(NCCL|GLOO)_\w+", several=True),
    _family(r"(TORCH|TORCHINDUCTOR|TORCHDYNAMO|PYTORCH)_\w+", _TORCH),
    _family(r"(FLAGS|GLOG)_\w+", " ".join(MODULES["paddle"].own | MODULES["paddle"].built_on)),
    _family(r"(JAX|XLA)_\w+", " ".join(MODULES["jax"].own | MODULES["jax"].built_on)),
    _family(r"TF_(CPP|ENABLE|DISABLE|FORCE_GPU|GPU|XLA|USE|CUDNN|DETERMINISTIC|NUM)_\w+|XLA_FLAGS", "tensorflow keras"),
    _family(r"KERAS_\w+", "keras tensorflow"),
    _family(r"(HF|HUGGINGFACE|HUGGING_FACE)_\w+", _HUB),
    _family(r"TRANSFORMERS_\w+", "transformers trl peft sentence_transformers"),
    _family("TOKENIZERS_PARALLELISM|RAYON_NUM_THREADS", "tokenizers transformers trl peft sentence_transformers"),
    _family(r"ACCELERATE_\w+", "accelerate transformers trl"),
    _family(r"WANDB_\w+", "wandb"),
    _family(r"MLFLOW_\w+", "mlflow"),
    _family(r"COMET_\w+", "comet_ml"),
    _family(r"NEPTUNE_\w+", "neptune"),
    _family(r"SWANLAB_\w+", "swanlab"),
)  # fmt: skip
"""Sources: the manuals of Python ("Command line and environment"), OpenMP 5.2 (chapter 21), oneMKL,
OpenBLAS and NumExpr; NVIDIA's CUDA C++ Programming Guide and NCCL user guide; PyTorch ("Torch Environment Variables"),
PaddlePaddle ("FLAGS"), JAX, TensorFlow and Keras; huggingface_hub ("Environment variables"), transformers, tokenizers;
the pages on environment variables of Weights & Biases, MLflow, Comet, Neptune and SwanLab."""


def explain_left(request: ScriptRequest, contents: Contents, shell: Mapping[str, str]) -> Iterator[Phrase]:
    """The line that names them, and one about GPUs that the shell chose. `shell`: its variables; no value is said."""
    if found := list_left(request, contents, shell):
        more = (phrase("{count} more", count=len(found) - MOST),) if len(found) > MOST else ()
        yield phrase(
            "the command reads {names} of this shell, which a job does not get by itself: add `{options}`",
            names=Names((*found[:MOST], *more), most=0),
            options=" ".join(_write_option(each, shell[each]) for each in found[:MOST]),
        )  # fmt: skip
    if not request.gpus and _chooses_devices(shell) and _DEVICES not in _list_given(request):
        reads = contents.sets is not None and _DEVICES not in contents.sets
        if reads or _DEVICES in contents.asked:
            count = len([each for each in shell[_DEVICES].split(",") if each.strip()])
            yield phrase(
                "{variable} of this shell chooses no GPUs for a job: `--gpus {count}` gives each worker as many",
                variable=_DEVICES, count=count,
            )  # fmt: skip


def list_left(request: ScriptRequest, contents: Contents, shell: Mapping[str, str]) -> list[str]:
    """The names of the variables, first those that are read by name, each part in the order of the alphabet."""
    # a pod has the GPUs that it is given, whatever its manifest says
    without = _list_given(request) | ({_DEVICES} if _chooses_devices(shell) else set())
    names = sorted(name for name in shell.keys() - without if _may_be_given(name))
    named = [name for name in names if name in contents.asked]
    if contents.sets is None:
        return named
    families = [each for each in _FAMILIES if _acts(each, request, contents)]
    taken = contents.sets | contents.asked
    return [*named, *(name for name in names if name not in taken and _is_read(name, families))]


def _chooses_devices(shell: Mapping[str, str]) -> bool:
    return shell.get(_DEVICES, "") not in _HIDES_DEVICES


def _list_given(request: ScriptRequest) -> frozenset[str]:
    return frozenset(name for name, _ in (*request.variables, *request.secrets))


def _may_be_given(name: str) -> bool:
    """Whether it is a variable that a user gives to a program."""
    if not NAME.fullmatch(name) or tells_place(name) or is_of_tool(name):
        return False
    return not any(each.fullmatch(name) for each in (_OF_PODS, _OF_SESSIONS))


def _is_read(name: str, families: Iterable[_Family]) -> bool:
    """Whether a library reads it by itself. `NCCL_VERSION` is what an image says of itself."""
    return not name.endswith("_VERSION") and any(each.names.fullmatch(name) for each in families)


def _acts(family: _Family, request: ScriptRequest, contents: Contents) -> bool:
    if family.gpus and not request.gpus:
        return False
    if family.several and not (request.gpus or request.workers > 1 or contents.launchers):
        return False
    own = MODULES[request.framework].own if request.framework in MODULES else frozenset()
    return not family.modules or not family.modules.isdisjoint(contents.imports | contents.requirements | own)


def _write_option(name: str, value: str) -> str:
    return f"--secret {name}" if is_secret(name, value) else f"--env {name}"

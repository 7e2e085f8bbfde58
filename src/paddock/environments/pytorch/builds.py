"""Which build of torch an environment gets: for CPUs, or with CUDA. Pure.

PyPI's torch is built for CUDA on Linux: it requires NVIDIA's packages, 3 GB in all. On a machine without a GPU they are
never installed unasked. In this order: the CPU build of download.pytorch.org, by uv's `--torch-backend`; the newest CPU
build that the settings of pip and uv find (extra indexes and find-links); else no build, and a sentence that says how
to ask for CUDA.

Asked is: `spec.torchBackend` of the Environment, UV_TORCH_BACKEND, or an index of the Environment's own that is
PyTorch's for one accelerator. Sources: uv's guide, "Using uv with PyTorch"; torch 2.15.0 on PyPI.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from paddock.environments.definition import Definition
from paddock.environments.packages.paddle import find_paddle
from paddock.environments.packages.torch import FAMILY, PYTORCH_INDEX, TORCH, find_torch, is_for_cpu
from paddock.environments.requirements import requirement_name
from paddock.words.phrases import Phrase, phrase

AUTO, CPU, PLAIN = "auto", "cpu", "default"
"""Values of `spec.torchBackend` beside uv's `cu128`, `rocm6.4` and `xpu`. `default`: what the package index has."""

VARIABLE = "UV_TORCH_BACKEND"

BACKEND_PATTERN = r"^(auto|cpu|default|xpu|cu\d{2,3}|rocm\d+(\.\d+){1,2})?$"


CUDA_SIZE = "3.0 GB"
"""The download of torch 2.15.0 and NVIDIA's packages for Linux x86-64: 3,000 MB by the sizes that PyPI lists."""

_BUILD = re.compile(r"==\s*[\d.]+\+(cu\d+|rocm[\d.]+|xpu)\s*(?:;|$)")
_ACCELERATOR = re.compile(r"/whl/(?:nightly/|test/)?(cu\d+|rocm[\d.]+|xpu)\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """What decides before anything is resolved."""

    backend: str = ""  # a value of `spec.torchBackend`; empty if nobody asked
    named: bool = False  # torch is among the requirements
    own_index: bool = False  # the Environment has an index of its own
    gpu: bool = False  # this machine has one

    @property
    def explicit(self) -> bool:
        """Whether one build was asked for, so that no other may take its place."""
        return self.backend not in ("", AUTO, CPU, PLAIN)

    @property
    def flag(self) -> str:
        """The value of uv's `--torch-backend` for the first try; empty to resolve without it."""
        if self.explicit or self.backend == CPU:
            return self.backend
        if self.backend == PLAIN or not self.named or self.own_index:
            return ""
        return AUTO if self.gpu else CPU

    @property
    def allows_cuda(self) -> bool:
        return self.gpu or self.backend not in ("", AUTO, CPU)


def read_asked(definition: Definition, environ: Mapping[str, str], gpu: bool) -> Asked:
    """`environ`: uv's environment variables."""
    links = [each for each in definition.options if each.startswith("-f ") and PYTORCH_INDEX in each]
    urls = [each for each in (definition.index_url, *definition.extra_index_urls, *links) if each]
    of_index = next((found[1] for each in urls if (found := _ACCELERATOR.search(each))), "")
    backend = definition.torch_backend or environ.get(VARIABLE, "")
    if (of_index or links) and not backend:
        backend = PLAIN
    named = find_torch(definition.requirements)
    if not backend and not urls and (build := _BUILD.search(named)):
        backend = build[1]
    return Asked(backend, bool(named) and "@" not in named, bool(urls), gpu)


def read_variable(definition: Definition, environ: Mapping[str, str], gpu: bool) -> str:
    """UV_TORCH_BACKEND; empty where what is built is the same without it.

    Of a package that is not torch it is not known whether it requires torch; PaddlePaddle does not."""
    variable = environ.get(VARIABLE, "")
    if not variable or definition.torch_backend or _is_paddles(definition):
        return ""
    flag, without = (read_asked(definition, each, gpu).flag for each in (environ, {}))
    # Without a flag uv reads the variable itself.
    return "" if flag and flag == without else variable


def _is_paddles(definition: Definition) -> bool:
    return bool(find_paddle(definition.requirements)) and not find_torch(definition.requirements)


@dataclass(frozen=True, slots=True)
class Index:
    """A package index, or find-links, that may have a CPU build."""

    name: str
    """For messages."""
    flags: tuple[str, ...] = ()
    """Of a run of uv that looks there alone, as `variables` are."""
    # The URLs may contain passwords.
    variables: Mapping[str, str | None] = field(default_factory=dict, repr=False)


def list_indexes(environ: Mapping[str, str]) -> tuple[Index, ...]:
    """The find-links and the indexes of uv's environment variables, each alone."""
    alone = dict.fromkeys(("UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"))
    named = ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
    urls = dict.fromkeys(_read_url(each) for name in named for each in environ.get(name, "").split())
    links = [Index("pip --find-links", ("--no-index",))] if environ.get("UV_FIND_LINKS") else []
    return (*links, *(Index(_name_index(url), (), {**alone, "UV_DEFAULT_INDEX": url}) for url in urls))


def _read_url(index: str) -> str:
    """`corp=https://…` -> `https://…`: an index of uv may have a name."""
    return re.sub(r"^[\w-]+=", "", index)


def _name_index(url: str) -> str:
    return urlsplit(url).hostname or url.rpartition("@")[2]  # without its scheme a URL has no host, and its password


@dataclass(frozen=True, slots=True)
class Candidate:
    """A build of torch that a place has."""

    place: str
    version: str = ""  # empty if it has no wheel for the interpreter
    pythons: str = ""  # the specifier of those that it has wheels for


def choose_candidate(candidates: Sequence[Candidate]) -> Candidate | None:
    """The newest CPU build, of equals the first; else the first for another interpreter; None without any."""
    fitting = [each for each in candidates if is_for_cpu(each.version)]
    if fitting:
        return max(fitting, key=lambda each: _release(each.version))
    return next((each for each in candidates if each.pythons), None)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0]))


def find_doubtful(versions: Mapping[str, str]) -> tuple[str, ...]:
    """Packages of torch's family that do not say that they are for CPUs, beside a torch that does. PyPI's torchvision
    fails then, at its import: `operator torchvision::nms does not exist`."""
    if not is_for_cpu(versions.get(TORCH, "")):
        return ()
    return tuple(each for each in versions if each in FAMILY and each != TORCH and not is_for_cpu(versions[each]))


def explain_mismatch(definition: Definition, versions: Mapping[str, str], name: str, why: str) -> Phrase:
    """The sentence for a package of the family that torch's build cannot be used with. `why`: its error."""
    package = f"{name} {versions[name]}"
    return phrase(
        "{package} of the package index does not work with torch {version} ({why}), and {build} was not found: set "
        "PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS to a place that has it, or ask for CUDA, {size} to download: "
        "`{command}`",
        package=package, version=versions[TORCH], why=why, build=f"{package}+cpu", size=CUDA_SIZE,
        command=_ask_for_cuda(definition),
    )  # fmt: skip


def _ask_for_cuda(definition: Definition) -> str:
    return f"paddock env update {definition.name} --torch-backend {PLAIN}"


def build_probe(definition: Definition) -> str:
    """The requirement that a place is asked for: the definition's own of torch, or any torch."""
    own = (each for each in definition.requirements if requirement_name(each) == TORCH and "@" not in each)
    return next(own, TORCH)


def explain_build(versions: Mapping[str, str], place: str, cuda: bool, variable: str = "") -> str:
    """`torch 2.13.0+cpu for CPUs, from pip --find-links`: what was chosen; empty for packages without torch.

    `place`: empty if no build was looked for. `cuda`: packages of CUDA are installed with it. `variable`: the value of
    UV_TORCH_BACKEND, if it has chosen."""
    if TORCH not in versions:
        return ""
    version = versions[TORCH]
    for_gpus = cuda or bool(re.search(r"\+(cu|rocm|xpu)", version))
    said = _say_with_place(version, place, for_gpus) if place else _say_build(version, for_gpus)
    if variable:
        said = phrase("{build} (UV_TORCH_BACKEND={value})", build=said, value=variable)
    return str(said)


def _say_build(version: str, for_gpus: bool) -> Phrase:
    if for_gpus:
        return phrase("torch {version} for GPUs", version=version)
    return phrase("torch {version} for CPUs", version=version)


def _say_with_place(version: str, place: str, for_gpus: bool) -> Phrase:
    if for_gpus:
        return phrase("torch {version} for GPUs, from {place}", version=version, place=place)
    return phrase("torch {version} for CPUs, from {place}", version=version, place=place)


def explain_refusal(definition: Definition, version: str, places: Sequence[str]) -> Phrase:
    """The sentence for a machine without a GPU that finds no CPU build."""
    return phrase(
        "torch {version} of the package index is built for CUDA, {size} to download, and this machine has no GPU; no "
        "build for CPUs was found (asked: {places}): set PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS to a place that has "
        "one, or ask for CUDA: `{command}`",
        version=version, size=CUDA_SIZE, places=", ".join((PYTORCH_INDEX, *places)), command=_ask_for_cuda(definition),
    )  # fmt: skip

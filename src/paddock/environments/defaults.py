"""The default Environments of every local cluster: for the images in the documents of PaddlePaddle, PyTorch and
DaoCloud's AI Lab, and for commands whose images stand for none (`Framework.find_default_environment`). Pure data.

PaddlePaddle's wheels after 3.0.0 have no parameter servers (`core.DistFleetWrapper`), so parameter servers and
Collective training need two environments.
"""

from __future__ import annotations

from typing import Any

from paddock.environments.packages.paddle import NUMPY, PADDLE, PADDLE_WITH_SERVERS, PROTOBUF
from paddock.environments.packages.torch import TORCH
from paddock.kube.meta import ENVIRONMENTS, Manifest

_PYTHON = ">=3.9,<3.14"
UNBUFFERED = {"name": "PYTHONUNBUFFERED", "value": "1"}
"""Log lines appear as they are printed; Python would keep up to 8 KB of them back."""
SERVERS_ENV = ({"name": "FLAGS_enable_pir_api", "value": "0"},)
"""The sparse tables of 3.0.0 need the old IR (not PIR)."""
SERVERS_CHECK = (
    "import paddle; assert hasattr(paddle.base.core, 'DistFleetWrapper'), "
    "'PaddlePaddle has no parameter servers on this platform'"
)
"""Python code. `core.is_compiled_with_brpc()` is True in wheels without parameter servers as well."""

_SERVERS: dict[str, Any] = {
    "python": _PYTHON,
    "requirements": [PADDLE_WITH_SERVERS, PROTOBUF, NUMPY, "setuptools"],
    "env": [*SERVERS_ENV, UNBUFFERED],
    "verify": SERVERS_CHECK,
}
_COLLECTIVE: dict[str, Any] = {
    "python": _PYTHON,
    "requirements": [PADDLE, NUMPY, "setuptools"],
    "env": [UNBUFFERED],
    "verify": "import paddle.distributed.launch",
}
_TORCH: dict[str, Any] = {
    # Equal for both images, which then share one directory.
    "requirements": [TORCH],
    "env": [UNBUFFERED],
    "verify": "import numpy, torch.distributed",
}
_JAX: dict[str, Any] = {
    "requirements": ["jax"],
    "env": [UNBUFFERED],
    "verify": "import jax.numpy",
}


def build_defaults() -> tuple[Manifest, ...]:
    """The objects to create, without the seed annotation (`environments.seeding` adds it)."""
    return (
        _environment(
            "paddle-ps",
            images=["*/paddle-operator/demo-wide-and-deep:*", "*/kuizhiqing/demo-wide-and-deep:*"],
            command=["python3", "train.py"],
            program="wide_and_deep",
            **_SERVERS,
        ),
        _environment("paddle-ubuntu", images=["*/paddle-operator/paddle-ubuntu:*"], **_SERVERS),
        _environment("paddle-resnet", images=["*/paddle-operator/demo-resnet:*"], program="resnet", **_COLLECTIVE),
        _environment("paddle", images=["*/paddlepaddle/paddle:*"], **_COLLECTIVE),
        _environment("pytorch", images=["*/pytorch/pytorch:*", "*/nvidia/pytorch:*"], **_TORCH),
        _environment("jax", images=["*/nvidia/jax:*"], **_JAX),
        # AI Lab's notebook image with the environment of its PyTorch tutorial: "already has PyTorch".
        _environment("baize-notebook", images=["*/baize-notebook*:*"], **_TORCH),
        _environment("host", images=["python:*", "busybox:*", "alpine:*", "ubuntu:*", "debian:*"]),
    )


def _environment(name: str, **spec: Any) -> Manifest:
    return {
        "apiVersion": ENVIRONMENTS.api_version,
        "kind": ENVIRONMENTS.kind,
        "metadata": {"name": name},
        "spec": spec,
    }

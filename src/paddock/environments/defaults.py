"""The environments that every local cluster begins with: those of the images in PaddlePaddle's documents. Pure data.

PaddlePaddle's wheel lost its parameter servers after 3.0.0 (they were `core.DistFleetWrapper`), so parameter servers
and Collective training need two environments. 3.0.0 needs protobuf before 7, and the old graph representation for its
sparse tables. `import paddle` needs setuptools, which its wheel does not ask for and a venv of uv does not have.
"""

from __future__ import annotations

from typing import Any

from paddock.kube.meta import ENVIRONMENTS, Manifest

_PYTHON = ">=3.9,<3.14"
_UNBUFFERED = {"name": "PYTHONUNBUFFERED", "value": "1"}  # a log line is there when it is printed

_SERVERS: dict[str, Any] = {
    "python": _PYTHON,
    "requirements": ["paddlepaddle==3.0.0", "protobuf<7", "setuptools"],
    "env": [{"name": "FLAGS_enable_pir_api", "value": "0"}, _UNBUFFERED],
    "verify": "import paddle; assert hasattr(paddle.base.core, 'DistFleetWrapper'), "
    "'PaddlePaddle has no parameter servers on this platform'",
}
_COLLECTIVE: dict[str, Any] = {
    "python": _PYTHON,
    "requirements": ["paddlepaddle==3.3.1", "setuptools"],
    "env": [_UNBUFFERED],
    "verify": "import paddle.distributed.launch",
}


def build_defaults() -> tuple[Manifest, ...]:
    """The objects as they would be created, without our annotation (`environments.seeding` adds it)."""
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
        _environment("host", images=["python:*", "busybox:*", "alpine:*", "ubuntu:*", "debian:*"]),
    )


def _environment(name: str, **spec: Any) -> Manifest:
    return {
        "apiVersion": ENVIRONMENTS.api_version,
        "kind": ENVIRONMENTS.kind,
        "metadata": {"name": name},
        "spec": spec,
    }

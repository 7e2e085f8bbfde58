"""The default Environments of every local cluster: for the images in PaddlePaddle's documents. Pure data.

PaddlePaddle's wheels after 3.0.0 have no parameter servers (`core.DistFleetWrapper`), so parameter servers and
Collective training need two environments.
"""

from __future__ import annotations

from typing import Any

from paddock.kube.meta import ENVIRONMENTS, Manifest

_PYTHON = ">=3.9,<3.14"
# Log lines appear as they are printed; Python would keep up to 8 KB of them back.
_UNBUFFERED = {"name": "PYTHONUNBUFFERED", "value": "1"}

_SERVERS: dict[str, Any] = {
    "python": _PYTHON,
    # PaddlePaddle 3.0.0 needs protobuf<7. `import paddle` needs setuptools, which its wheel does not require and a venv
    # of uv does not contain.
    "requirements": ["paddlepaddle==3.0.0", "protobuf<7", "setuptools"],
    # The sparse tables of 3.0.0 need the old IR (not PIR).
    "env": [{"name": "FLAGS_enable_pir_api", "value": "0"}, _UNBUFFERED],
    # `core.is_compiled_with_brpc()` is True in wheels without parameter servers as well.
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
        _environment("host", images=["python:*", "busybox:*", "alpine:*", "ubuntu:*", "debian:*"]),
    )


def _environment(name: str, **spec: Any) -> Manifest:
    return {
        "apiVersion": ENVIRONMENTS.api_version,
        "kind": ENVIRONMENTS.kind,
        "metadata": {"name": name},
        "spec": spec,
    }

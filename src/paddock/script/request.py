"""What `paddock run` and `paddock init` were asked for, as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """A command and its options.

    `words`: the command as typed. `framework`: a key of `script.kinds.SCRIPT_KINDS`. `name`: --name, empty for the
    script's. `servers`: parameter servers; 0 is Collective training. `gpus`: of each worker. `restarts`: how often a
    failed job is started again. `end_wait`: seconds after which ranks that run on are ended; None: never. `mounts`: the
    annotation of its datasets. `image` and `environment` (the name of an Environment): empty for the defaults.
    `requirements`: the file of the environment, as a manifest names it, relative
    to its own directory; empty where `environment` says it. `directory`: where the programs start on a laptop,
    absolute; empty for what the command line decides by itself. `variables` are in the manifest. `secrets` are in a
    Secret, which `secret_name` names:
    their values are never printed.
    """

    words: Sequence[str]
    framework: str = "paddle"
    name: str = ""
    namespace: str = ""
    workers: int = 1
    servers: int = 0
    gpus: int = 0
    restarts: int = 0
    end_wait: int | None = None
    mounts: str = ""
    resume: bool = False
    image: str = ""
    environment: str = ""
    requirements: str = ""
    directory: str = ""
    variables: Sequence[tuple[str, str]] = ()
    secrets: Sequence[tuple[str, str]] = field(default=(), repr=False)

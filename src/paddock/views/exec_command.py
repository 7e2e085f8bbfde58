"""What is typed to enter a pod of a job: a shell, or one command. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from paddock.kube.meta import Resource
from paddock.views.commands import printed_name


def shell_command(
    resource: Resource, namespace: str, name: str, *, role: str = "", index: int | None = None, options: str = ""
) -> str:
    """`paddock shell paddlejob/demo --role worker --rank 1`: a shell in the pod of this rank, by default of rank 0.

    `options`: what a `paddock` command needs to reach the cluster (` --context prod`).
    """
    return " ".join(["paddock", "shell", *_name_pod(resource, namespace, name, role, index)]) + options


def exec_command(
    resource: Resource,
    namespace: str,
    name: str,
    words: Sequence[str],
    *,
    role: str = "",
    index: int | None = None,
    options: str = "",
) -> str:
    """`paddock exec paddlejob/demo --role worker --rank 1 -- ls /data`: the command `words` in the pod of this rank.

    `words`: one for each argument. `options` as of `shell_command`: they stand before `--`, else the command had them.
    """
    where = " ".join(["paddock", "exec", *_name_pod(resource, namespace, name, role, index)])
    return f"{where}{options} -- {shlex.join(words)}"


def _name_pod(resource: Resource, namespace: str, name: str, role: str, index: int | None) -> list[str]:
    found = [shlex.quote(printed_name(resource, name))]
    found += [] if namespace == "default" else ["--namespace", shlex.quote(namespace)]
    found += ["--role", shlex.quote(role)] if role else []
    return found + ([] if index is None else ["--rank", str(index)])

"""How the run of a credential plug-in ended, and the sentence for each way to fail. PURE.

Of what the plug-in wrote on standard error the last lines are quoted, without what may be a secret: they say in the
provider's own words what to do, which is to sign in again as a rule.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import Literal

from paddock.client.errors import PluginError, Said, said
from paddock.client.exec_plugin import ExecPlugin
from paddock.client.redaction import redact

SECONDS = 60
"""How long a plug-in may run that cannot ask anybody. One that can has no limit: somebody may sign in meanwhile."""
OUTPUT_BYTES = 1024 * 1024
ERROR_BYTES = 16 * 1024
"""What is kept of standard error, from its end."""
_LINES, _COLUMNS = 5, 300


@dataclass(frozen=True, slots=True)
class Ended:
    """A run of a plug-in that has ended."""

    code: int
    """Of exit; negative: the signal."""
    output: bytes = field(default=b"", repr=False)
    errors: bytes | None = field(default=None, repr=False)
    """The end of standard error; None if it went to the user's own."""
    stopped: Literal["", "seconds", "bytes"] = ""
    """Which limit ended the run."""


def explain_missing(plugin: ExecPlugin) -> PluginError:
    """The command is not found. `installHint` is the kubeconfig's own advice."""
    what = (
        said("{who} does not exist", who=plugin.who)
        if "/" in plugin.command
        else said("{who} is not installed: no directory of PATH has it", who=plugin.who)
    )
    hint = redact(plugin.hint).strip()
    advice = (
        said("The kubeconfig says: {hint}", hint=hint)
        if hint
        else said("Install it with the tools of the cluster's provider, or write its path into exec.command")
    )
    return PluginError(said("{what}. {advice}", what=what, advice=advice), missing=True)


def explain_unstarted(plugin: ExecPlugin, error: OSError) -> PluginError:
    """The command is there, and the system does not run it."""
    why = error.strerror or str(error)
    if isinstance(error, FileNotFoundError):  # execve(2): the interpreter in its first line
        return PluginError(
            said("{who} cannot be started: the interpreter that its first line names does not exist", who=plugin.who),
            missing=True,
        )
    return PluginError(
        said("{who} cannot be started: {why}. It has to be a program that you may execute", who=plugin.who, why=why),
        missing=True,
    )


def explain_failure(plugin: ExecPlugin, ended: Ended) -> PluginError | None:
    """The error of a run that failed; None if there is an answer to read."""
    if ended.stopped == "bytes":
        return PluginError(
            said(
                "{who} printed more than {limit} KiB and was stopped: exec.command and exec.args have to be those of a "
                "plug-in for Kubernetes",
                who=plugin.who, limit=str(OUTPUT_BYTES // 1024),
            )
        )  # fmt: skip
    if ended.stopped == "seconds":
        return PluginError(
            said(
                "{who} gave nothing within {seconds} s and was stopped: it may wait for somebody. Sign in first, in a "
                "terminal, with the tools of the cluster's provider. {heard}",
                who=plugin.who, seconds=str(SECONDS), heard=_hear(ended),
            )
        )  # fmt: skip
    if ended.code < 0:
        return PluginError(
            said("{who} was ended by {signal}. {heard}", who=plugin.who, signal=_name(-ended.code), heard=_hear(ended))
        )
    if ended.code:
        return PluginError(
            said(
                "{who} failed with exit code {code}. You may have to sign in again with the tools of the cluster's "
                "provider. {heard}",
                who=plugin.who, code=str(ended.code), heard=_hear(ended),
            )
        )  # fmt: skip
    return None


def _hear(ended: Ended) -> Said:
    if ended.errors is None:
        return said("What it wrote is above")
    lines = [line.strip() for line in redact(ended.errors.decode(errors="replace")).splitlines() if line.strip()]
    if not lines:
        return said("It wrote no reason")
    return said("It wrote:\n{lines}", lines="\n".join(line[:_COLUMNS] for line in lines[-_LINES:]))


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

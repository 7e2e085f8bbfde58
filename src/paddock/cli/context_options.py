"""`--context` and `--kubeconfig`, before the verb and after it. What they name becomes a place in `cli.session`.

Imports nothing but click, as `paddock --help` reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

Command = TypeVar("Command", bound=Callable[..., Any])

CHOSEN = "paddock.cli.place"
"""Where click's context keeps what --context and --kubeconfig say, before the verb and after it."""


def _keep(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value == "":
        raise click.BadParameter("a name is wanted, not an empty text", ctx=context, param=parameter)
    if value is None or parameter.name is None:
        return
    chosen = context.meta.setdefault(CHOSEN, {})
    if context.get_parameter_source(parameter.name) is ParameterSource.ENVIRONMENT:
        chosen.setdefault(parameter.name, value)
    else:
        chosen[parameter.name] = value


def context_options(command: Command, *, variable: str | None = "PADDOCK_CONTEXT") -> Command:
    """`--context` and `--kubeconfig`. Read first: what -n means without a value depends on them. Before the verb there
    is no `variable`: it is for the verbs that can be elsewhere, and does not speak against the others."""
    for option in (
        click.option(
            "--kubeconfig", metavar="FILE", expose_value=False, is_eager=True, callback=_keep,
            help="The Kubernetes of this kubeconfig (default with --context: kubectl's own).",
        ),
        click.option(
            "--context", metavar="NAME", expose_value=False, is_eager=True, callback=_keep, envvar=variable,
            help="On the Kubernetes of this context, not on the local cluster (or PADDOCK_CONTEXT).",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def is_chosen(context: click.Context) -> bool:
    """Whether a place was named on the command line."""
    return bool(context.meta.get(CHOSEN))


def namespace_option(command: Command) -> Command:
    """`-n`, with the options that choose the place."""
    option = click.option(
        "-n",
        "--namespace",
        default=None,
        metavar="NAME",
        callback=_read_namespace,
        help="The namespace (default: the context's, else default).",
    )
    return context_options(option(command))


def _read_namespace(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    if value or not is_chosen(context):
        return value or "default"
    from paddock.cli.session import choose_place

    return choose_place(context).flags.namespace

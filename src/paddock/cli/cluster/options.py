"""`--context` and `--kubeconfig`, before the verb and after it. `cli.cluster.session` makes a `Place` of them.

Imports nothing but click, as `paddock --help` reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from paddock.cli.cluster.context_flags import is_chosen, keep_chosen

Command = TypeVar("Command", bound=Callable[..., Any])


def _keep(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value == "":
        from paddock.cli.output.language import localized
        from paddock.jobs.text.phrases import phrase

        said = localized(phrase("a name is wanted, not an empty text"))
        raise click.BadParameter(said, ctx=context, param=parameter)
    if value is None or parameter.name is None:
        return
    chosen = keep_chosen(context)
    if context.get_parameter_source(parameter.name) is ParameterSource.ENVIRONMENT:
        chosen.setdefault(parameter.name, value)
    else:
        chosen[parameter.name] = value


def context_options(command: Command, *, variable: str | None = "PADDOCK_CONTEXT") -> Command:
    """`--context` and `--kubeconfig`. Eager, as the default of -n depends on them. `variable`: None before the verb, so
    that PADDOCK_CONTEXT is no error for verbs of the local cluster."""
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


def namespace_option(command: Command) -> Command:
    """`-n`, with `--context` and `--kubeconfig`."""
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
    from paddock.cli.cluster.session import choose_place

    return choose_place(context).flags.namespace

"""`--context` and `--kubeconfig`, before the verb and after it. `cli.cluster.session` makes a `ClusterChoice` of them.

Imports nothing but click, as `paddock --help` reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from paddock.cli.cluster.context_flags import is_chosen, keep_chosen, keep_contexts, keep_typed, read_contexts

Command = TypeVar("Command", bound=Callable[..., Any])


def _keep(context: click.Context, parameter: click.Parameter, value: str | tuple[str, ...] | None) -> None:
    values = (value,) if isinstance(value, str) else tuple(dict.fromkeys(value or ()))
    if "" in values:
        from paddock.cli.output.language import localized
        from paddock.words.phrases import phrase

        said = localized(phrase("a name is wanted, not an empty text"))
        raise click.BadParameter(said, ctx=context, param=parameter)
    if not values or parameter.name is None:
        return
    chosen = keep_chosen(context)
    if context.get_parameter_source(parameter.name) is ParameterSource.ENVIRONMENT:
        chosen.setdefault(parameter.name, values[0])
    else:
        chosen[parameter.name] = values[0]
        keep_typed(context)
        if parameter.name == "context":
            keep_contexts(context, values)


class _Name(click.types.StringParamType):
    """A variable of the environment is one name, with any blanks that are in it."""

    def split_envvar_value(self, rv: str) -> list[str]:
        return [rv]


_ONE = "On the Kubernetes of this context, not on the local cluster (or PADDOCK_CONTEXT)."
_SEVERAL = (
    "On the Kubernetes of this context, not on the local cluster (or PADDOCK_CONTEXT). Several times: the jobs of all "
    "of them in one list."
)


def context_options(command: Command, *, variable: str | None = "PADDOCK_CONTEXT", several: bool = False) -> Command:
    """`--context` and `--kubeconfig`. Eager, as the default of -n depends on them. `variable`: None before the verb, so
    that PADDOCK_CONTEXT is no error for verbs of the local cluster. `several`: --context may be given several times;
    see `read_contexts`."""
    for option in (
        click.option(
            "--kubeconfig", metavar="FILE", expose_value=False, is_eager=True, callback=_keep,
            help="The Kubernetes of this kubeconfig (default with --context: kubectl's own).",
        ),
        click.option(
            "--context", metavar="NAME", expose_value=False, is_eager=True, callback=_keep, envvar=variable,
            type=_Name(), multiple=several, help=_SEVERAL if several else _ONE,
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def namespace_option(command: Command, *, several: bool = False) -> Command:
    """`-n`, with `--context` and `--kubeconfig`. `several`: see `context_options`."""
    option = click.option(
        "-n",
        "--namespace",
        default=None,
        metavar="NAME",
        callback=_read_namespace,
        help="The namespace (default: the context's, else default).",
    )
    return context_options(option(command), several=several)


_OF_NO_CLUSTER = ("bundle", "logs", "host")
"""Options with which a command asks no cluster, so what PADDOCK_CONTEXT names need not be there."""


def _read_namespace(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    if any(context.params.get(name) for name in _OF_NO_CLUSTER):
        return value or "default"
    if value or not is_chosen(context) or read_contexts(context):
        return value or "default"
    from paddock.cli.cluster.session import choose_place

    return choose_place(context).flags.namespace

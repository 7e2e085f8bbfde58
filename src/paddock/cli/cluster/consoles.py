"""`paddock console` on a Kubernetes: beside the terminal, of one user; or in a pod, of many."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from paddock.app.home import read_home
from paddock.cli.cluster.addresses import build_bind_address, read_bind_address
from paddock.cli.cluster.errors import Failed, UserError, build_phrase
from paddock.cli.cluster.limits import LimitsType
from paddock.cli.output.language import localized
from paddock.cli.output.streams import print_line
from paddock.cli.verb import DescribedDefault
from paddock.install.console import PORT
from paddock.kube.validation.names import DNS_SUBDOMAIN
from paddock.words.phrases import phrase

if TYPE_CHECKING:
    from paddock.app.consoles.cluster import Oidc
    from paddock.app.consoles.keeping.keeper import Keeping
    from paddock.app.consoles.links import Link
    from paddock.cli.cluster.places import Cluster

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Serving:
    """The options of `--serve`."""

    address: Any
    """A `paddock.app.health.Address`."""
    hosts: tuple[str, ...] = ()
    name: str = ""
    certificate: str | None = None
    key: str | None = None
    behind_tls: bool = False
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret_file: str | None = None
    oidc_scope: tuple[str, ...] = ()
    oidc_ca: str | None = None
    keep: str | None = None
    keep_logs: Any = None
    """A `paddock.history.retention.Limits`."""


_OF_OIDC = ("--oidc-issuer", "--oidc-client-id", "--oidc-client-secret-file", "--oidc-scope", "--oidc-ca")
_OF_SERVE = ("--bind-address", "--host", "--cluster-name", "--tls-cert", "--tls-key", "--behind-tls", "--keep",
             "--keep-logs", *_OF_OIDC)  # fmt: skip


def list_typed(context: click.Context) -> list[str]:
    """The options and arguments of the command line, as they are written in its help."""
    typed = (each for each in context.command.params if each.name and _is_typed(context, each.name))
    return [each.opts[0] if isinstance(each, click.Option) else each.make_metavar(context) for each in typed]


def _is_typed(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def refuse_misplaced(typed: Sequence[str], *, serve: bool, cluster: bool) -> None:
    """Raises `UserError` for an option that would do nothing. `cluster`: a context or a kubeconfig is named."""
    for each in typed:
        if each in _OF_SERVE and not serve:
            raise UserError(phrase("{option} goes with --serve: add it, or leave {option} out", option=each))
        if each in ("[JOB]", "--url", "--port", "-n") and serve:
            raise UserError(phrase("--serve opens no page of its own: leave {option} out", option=each.strip("[]")))
        if each == "--port" and not cluster:
            said = phrase("the local cluster's console has its own address: leave {option} out", option=each)
            raise UserError(said)


def serve_user(place: Cluster, path: str, port: int, show: Callable[[Link], None]) -> int:
    """The console of a context, until Ctrl-C. `show`: of the link that signs in once and goes on to `path`."""
    from paddock.app.consoles import cluster as consoles
    from paddock.app.health import CannotServe
    from paddock.client.credentials import open_credentials
    from paddock.serving.loop import run
    from paddock.serving.open_files import raise_limit

    raise_limit()
    config = place.read_config()
    shown = consoles.Shown(consoles.name_cluster(config), place.flags.options, place.flags.kubectl)

    home = read_home(os.environ)

    async def work() -> None:
        async with open_credentials(config, interactive=True, notify=notify) as credentials:
            await consoles.serve_user(config, shown, credentials, port, lambda make: show(make(path)), home)

    try:
        run(work())
    except CannotServe as error:
        raise Failed(*error.args) from None
    return 0


def notify(said: Any) -> None:
    """Prints what a credential's plug-in has to say."""
    print_line(localized(build_phrase(said)), to=sys.stderr)


def serve_readers(kubeconfig: str | None, context: str | None, serving: Serving) -> int:
    """A console for whoever has a token of the cluster, until a signal."""
    from paddock.app.consoles import cluster as consoles
    from paddock.app.health import CannotServe
    from paddock.app.json_logs import start_logging
    from paddock.client.kubeconfig import read_server
    from paddock.serving.loop import run
    from paddock.serving.open_files import raise_limit

    _check(serving)
    raise_limit()
    config = read_server(kubeconfig, context)
    start_logging(sys.stderr, "text" if sys.stderr.isatty() else "json")
    logging.getLogger("aiohttp").setLevel(logging.WARNING)
    name = serving.name or "CONTEXT"
    shown = consoles.Shown(serving.name or consoles.name_cluster(config), f" --context {name}")
    options = consoles.Options(
        serving.address,
        serving.hosts,
        Path(serving.certificate) if serving.certificate else None,
        Path(serving.key) if serving.key else None,
        serving.behind_tls,
        read_oidc(serving),
        _read_keeping(kubeconfig, context, serving),
    )
    try:
        return run(consoles.serve_readers(config, shown, options, read_home(os.environ)))
    except CannotServe as error:
        raise Failed(*error.args) from None


def _read_keeping(kubeconfig: str | None, context: str | None, serving: Serving) -> Keeping | None:
    """With the credential of the kubeconfig's user, or of the pod's account, which no reader's request carries. Raises
    `ConfigError` where there is none."""
    if serving.keep is None:
        return None
    from paddock.app.consoles.keeping.keeper import LIMITS, Keeping
    from paddock.client.kubeconfig import read_config

    config = read_config(kubeconfig, context)
    return Keeping(Path(serving.keep).absolute(), config, serving.keep_logs or LIMITS)


def _check(serving: Serving) -> None:
    if serving.keep_logs is not None and serving.keep is None:
        raise click.UsageError(localized(phrase("{option} goes with {needed}: add it, or leave {option} out",
                                                option="--keep-logs", needed="--keep")))  # fmt: skip
    if serving.address is None:
        raise click.UsageError(localized(phrase("--bind-address=0 is off, and a console has to listen")))
    if (serving.certificate is None) != (serving.key is None):
        raise click.UsageError(localized(phrase("--tls-cert and --tls-key belong together")))


def read_oidc(serving: Serving) -> Oidc | None:
    """Raises `UsageError` for half of a provider."""
    from paddock.app.consoles.cluster import Oidc

    given = (serving.oidc_issuer, serving.oidc_client_id)
    if not any((*given, serving.oidc_client_secret_file, serving.oidc_scope, serving.oidc_ca)):
        return None
    if not all(given):
        said = phrase("a sign-in by OpenID Connect needs both, --oidc-issuer and --oidc-client-id")
        raise click.UsageError(localized(said))
    secret, authorities = serving.oidc_client_secret_file, serving.oidc_ca
    return Oidc(
        *given, Path(secret) if secret else None, serving.oidc_scope, Path(authorities) if authorities else None
    )  # fmt: skip


def _read_issuer(_context: click.Context, parameter: click.Parameter, value: str) -> str:
    if not value:
        return value
    from paddock.console.oidc import find_misfit  # few consoles have one

    if why := find_misfit(value):
        said = phrase("{issuer} is no issuer of OpenID Connect: {why}", issuer=repr(value), why=why)
        raise click.BadParameter(localized(said), param=parameter)
    return value


def _read_hosts(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    for name in values:
        if not DNS_SUBDOMAIN.allows(name):
            said = phrase(
                "{name} is not a valid name for a host: small letters, digits, '-' and '.', no port", name=repr(name)
            )
            raise click.BadParameter(localized(said), param=parameter)
    return values


def serve_options(command: Command) -> Command:
    """`--port`, and `--serve` with its own. The command gets `port`, `serve`, `address`, `hosts`, `cluster_name`,
    `tls_cert`, `tls_key`, `behind_tls` and those of OpenID Connect, as `Serving` calls them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=0,
        metavar="PORT",
        help="With --context: where to listen on this machine (default: any free port).",
    ),
    click.option("--serve", is_flag=True, help="Serve whoever has a token of the cluster, as in a pod."),
    click.option(
        "--bind-address",
        "address",
        default=lambda: build_bind_address(PORT),
        cls=DescribedDefault,
        show_default=f"127.0.0.1:{PORT}",
        callback=read_bind_address,
        metavar="HOST:PORT",
        help="With --serve: where to listen.",
    ),
    click.option(
        "--host",
        "hosts",
        multiple=True,
        callback=_read_hosts,
        metavar="NAME",
        help="With --serve: a name by which browsers reach it, such as an Ingress's; localhost always works.",
    ),
    click.option(
        "--cluster-name",
        default="",
        metavar="NAME",
        help="With --serve: how its readers' kubeconfigs call this cluster; commands that are shown name it.",
    ),
    click.option("--tls-cert", metavar="FILE", help="With --serve: a certificate (PEM), for HTTPS."),
    click.option("--tls-key", metavar="FILE", help="With --serve: its key (PEM)."),
    click.option(
        "--behind-tls",
        is_flag=True,
        help="With --serve: a proxy ends TLS before it, and its X-Forwarded-Proto is believed.",
    ),
    click.option(
        "--keep",
        metavar="DIRECTORY",
        help="With --serve: keep logs and history of all jobs here, with the account of this process, as in a claim.",
    ),
    click.option(
        "--keep-logs",
        type=LimitsType(),
        metavar="TIME,SIZE",
        help="With --keep: how long and up to which size, of runs that are over (default: 30d,20GiB).",
    ),
    click.option(
        "--oidc-issuer",
        default="",
        callback=_read_issuer,
        metavar="URL",
        help="With --serve: readers may sign in by this OpenID Connect provider, which the cluster has to trust too.",
    ),
    click.option("--oidc-client-id", default="", metavar="ID", help="With --serve: this console, to the provider."),
    click.option("--oidc-client-secret-file", metavar="FILE", help="With --serve: the secret of that client."),
    click.option(
        "--oidc-scope", multiple=True, metavar="SCOPE", help="With --serve: what to ask for besides openid; repeatable."
    ),
    click.option(
        "--oidc-ca",
        metavar="FILE",
        help="With --serve: whom to trust to be the provider (PEM; default: this machine's).",
    ),
)

"""paddock webhook

`install.webhook` has what runs it in a cluster. Imports only what the operator's image has.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from paddock.cli.cluster.addresses import build_bind_address, read_bind_address
from paddock.cli.cluster.errors import Failed
from paddock.cli.output.language import localized
from paddock.cli.verb import DescribedDefault, Verb
from paddock.install.webhook import NAME, PORT
from paddock.words.phrases import phrase

if TYPE_CHECKING:
    from paddock.app.health import Address


@click.command(name="webhook", cls=Verb)
@click.option(
    "--configuration",
    default=NAME,
    show_default=True,
    metavar="NAME",
    help="The ValidatingWebhookConfiguration into which the certificate is written.",
)
@click.option(
    "--service",
    default=NAME,
    show_default=True,
    metavar="NAME",
    help="The Service that leads here; the certificate is made for its name.",
)
@click.option("--service-namespace", metavar="NAME", help="Where that Service is (default: the webhook's own).")
@click.option(
    "--bind-address",
    "address",
    default=lambda: build_bind_address(PORT),
    cls=DescribedDefault,
    show_default="127.0.0.1:9443; in a pod :9443",
    callback=read_bind_address,
    metavar="HOST:PORT",
    help="Where it answers; /healthz and /readyz are there too.",
)
@click.option("--kubeconfig", metavar="FILE", help="Default: $KUBECONFIG, ~/.kube/config, the pod's service account.")
@click.option("--context", "context_name", metavar="NAME", help="A context of the kubeconfig.")
@click.option(
    "--log-format",
    type=click.Choice(["json", "text"]),
    help="Default: text on a terminal, json elsewhere.",
)
def command(
    configuration: str,
    service: str,
    service_namespace: str | None,
    address: Address | None,
    kubeconfig: str | None,
    context_name: str | None,
    log_format: str | None,
) -> int:
    """Refuse wrong jobs before a Kubernetes stores them: what `paddock validate` calls an error.

    \b
    paddock manifests webhook --image IMAGE | kubectl apply -f -
    paddock webhook --kubeconfig ~/.kube/config --bind-address=:9443

    The first command runs it inside the cluster. It is optional: while it does not run, every job is let through.
    """
    if address is None:
        raise click.UsageError(localized(phrase("--bind-address=0 is off, and a webhook has to listen")))
    from paddock.app import webhook
    from paddock.app.health import CannotServe
    from paddock.app.json_logs import start_logging
    from paddock.client.kubeconfig import read_config

    config = read_config(kubeconfig, context_name)
    start_logging(sys.stderr, "text" if log_format == "text" or (not log_format and sys.stderr.isatty()) else "json")
    options = webhook.Options(configuration, service, service_namespace or config.namespace, address)
    from paddock.serving.loop import run
    from paddock.serving.open_files import raise_limit

    raise_limit()
    try:
        return run(webhook.serve(config, options))
    except CannotServe as error:
        raise Failed(*error.args) from None

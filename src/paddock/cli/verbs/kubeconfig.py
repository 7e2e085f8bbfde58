"""paddock kubeconfig"""

from __future__ import annotations

import click

from paddock.cli.cluster.session import ensure_up
from paddock.cli.output.streams import print_line
from paddock.cli.verb import Verb


@click.command(name="kubeconfig", cls=Verb)
def command() -> None:
    """Print the path of the local cluster's kubeconfig; the cluster is started if it is not up.

    \b
    export KUBECONFIG=$(paddock kubeconfig)
    kubectl get pdj,pods
    """
    print_line(str(ensure_up().kubeconfig))

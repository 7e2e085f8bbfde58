"""paddock console

With --serve it imports only what the operator's image has.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.cluster.complete import complete_jobs
from paddock.cli.cluster.consoles import Serving, list_typed, refuse_misplaced, serve_options, serve_readers
from paddock.cli.cluster.context_flags import read_chosen, read_contexts
from paddock.cli.cluster.options import namespace_option
from paddock.cli.output.language import localized
from paddock.cli.verb import Verb
from paddock.words.phrases import phrase

if TYPE_CHECKING:
    from paddock.app.health import Address
    from paddock.history.retention import Limits


@click.command(name="console", cls=Verb)
@click.argument("job", required=False, metavar="[JOB]", shell_complete=complete_jobs)
@click.option(
    "--url",
    "alone",
    is_flag=True,
    help="Print the link alone, for scripts, and open nothing. With --context the command goes on.",
)
@serve_options
@partial(namespace_option, several=True)
def command(
    job: str | None,
    alone: bool,
    namespace: str,
    port: int,
    serve: bool,
    address: Address | None,
    hosts: tuple[str, ...],
    cluster_name: str,
    tls_cert: str | None,
    tls_key: str | None,
    behind_tls: bool,
    keep: str | None,
    keep_logs: Limits | None,
    **oidc: Any,
) -> int:
    """Open the console in the browser: see, create and understand jobs. With JOB, its page.

    \b
    paddock console
    paddock console resnet
    paddock console --url
    paddock console --context prod
    paddock console --context prod --context paddock

    Where no browser can be opened, the link is printed. It signs in once and within five minutes. The session ends
    with the console's process, after 8 hours in which no page was open, and after 7 days.

    With --context it serves that Kubernetes on this machine until Ctrl-C, with the rights of the kubeconfig's user.
    With several, the jobs of all of them are in one list; `paddock` is the local cluster.
    `paddock manifests console` prints what runs it in a cluster, for whoever has a token.
    """
    context = click.get_current_context()
    chosen, contexts = read_chosen(context), read_contexts(context)
    if contexts and (serve or job):
        raise click.UsageError(localized(phrase("several --context make one list: leave JOB and --serve out")))
    typed = list_typed(context)
    refuse_misplaced(typed, serve=serve, cluster=bool(chosen))
    if serve:
        serving = Serving(
            address, hosts, cluster_name, tls_cert, tls_key, behind_tls, keep=keep, keep_logs=keep_logs, **oidc
        )
        return serve_readers(chosen.get("kubeconfig"), chosen.get("context"), serving)
    from paddock.cli.follow.consoles import open_console, open_fleet

    asked = namespace if "-n" in typed else ""
    if contexts:
        return open_fleet(contexts, asked, port, alone=alone)
    return open_console(job, namespace, asked, port, alone=alone)

"""What a console on this machine has copied of a cluster's logs, for `paddock logs` when the pods are gone."""

from __future__ import annotations

import os

from paddock.app.consoles.spool.files import place_of_cluster
from paddock.app.history import History
from paddock.app.home import read_home
from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.follow.print_logs import Request, print_kept
from paddock.cli.output.language import localized
from paddock.cli.output.terminal import stderr
from paddock.words.phrases import phrase


def print_copied(place: ClusterChoice, namespace: str, word: str, request: Request, current: str = "") -> int | None:
    """Prints what is copied of the job, or of the pod, that `word` names, and says that it is a copy; the exit code.
    None where nothing is, or where it may still grow and is to be followed. `current`: as in `print_kept`."""
    home = place_of_cluster(read_home(os.environ), place.read_config().server)
    if not home.history.is_dir():
        return None
    code = print_kept(History(home), namespace, word, request, current, place.flags)
    if code is not None:
        said = phrase(
            "the pods are gone: this is what `{command}` has copied on this machine", command=name_console(place)
        )
        stderr().print(localized(said))
    return code


def name_console(place: ClusterChoice) -> str:
    """The command that copies logs of this cluster."""
    return f"paddock console{place.flags.options}"

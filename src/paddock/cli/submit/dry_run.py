"""A server-side dry run of manifests that have no local problems; it creates nothing.

It covers what only the cluster knows: admission plugins, quotas, namespaces, served kinds, RBAC.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace

from paddock.cli.cluster.places import ClusterChoice
from paddock.cli.cluster.session import choose_place, connect, run
from paddock.cli.submit.checks import find_place_refusals
from paddock.cli.submit.mount_paths import find_unmountable
from paddock.kube.api import Api
from paddock.kube.errors import AlreadyExists
from paddock.kube.meta import NAMESPACES, Key
from paddock.submission.documents import Checked
from paddock.submission.dry_run import explain_left_out, explain_refused, fetch_refusal, is_awaited
from paddock.submission.local_only import find_notices, with_local_warnings
from paddock.submission.missing_secrets import read_brought
from paddock.submission.reading import Reading
from paddock.words.phrases import Phrase, phrase
from paddock.words.problems import Problem
from paddock.words.sentences import told


def check_readings(readings: Sequence[Reading]) -> list[Reading]:
    """The readings with the cluster's problems added. Raises `ApiError` if it does not answer."""
    place = choose_place()

    async def work() -> list[Reading]:
        async with connect(place) as client:
            brought = read_brought([each for reading in readings for each in reading.placed], NAMESPACES)
            return [await _check(client, place, each, brought) for each in readings]

    return run(work())


async def _check(api: Api, place: ClusterChoice, reading: Reading, brought: Collection[Key]) -> Reading:
    """`brought`: the Namespaces among all that is sent together."""
    if reading.wrong:
        return reading
    if place.home is not None:
        reading = with_local_warnings(reading, os.getuid(), find_unmountable(reading.placed, place.home))
    problems: list[Problem] = []
    for each in reading.placed:
        refused = find_place_refusals([each], is_local=place.home is not None)
        problems += [_build_problem(each, refusal.shown, "error") for refusal in refused]
        problems += [_build_problem(each, why, "warning") for why in find_notices([each])]
        error = await fetch_refusal(api, each)
        if said := explain_left_out(each, error, is_local=place.home is not None):
            problems.append(_build_problem(each, said, "warning"))
            continue
        # a name that exists is no mistake in the file
        if error is not None and not isinstance(error, AlreadyExists) and not is_awaited(error, brought):
            why = explain_refused(each, error, place.flags)
            problems.append(_build_problem(each, phrase("the cluster says: {why}", why=why), "error"))
    return replace(reading, problems=(*reading.problems, *problems))


def _build_problem(each: Checked, said: Phrase | str, severity: str) -> Problem:
    problem = told("", said, severity="error" if severity == "error" else "warning")
    return replace(problem, line=each.document.line)

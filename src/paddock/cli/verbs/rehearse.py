"""paddock rehearse"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddock.app.rehearsals import MOST, Uncopied, fill, make_directory, measure, place_of
from paddock.cli.cluster.errors import Failed, UserError
from paddock.cli.cluster.places import Local
from paddock.cli.cluster.session import connect, home
from paddock.cli.output.display import build_head
from paddock.cli.output.findings import Subject, print_text
from paddock.cli.output.findings import build_document as build_findings
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.periods import read_seconds
from paddock.cli.output.screen import Screen
from paddock.cli.output.streams import print_answer, print_line, print_notice, write_json
from paddock.cli.output.tables import print_fitted
from paddock.cli.output.terminal import stdout, styled
from paddock.cli.rehearsed_findings import choose_findings
from paddock.cli.rehearsed_run import Rehearsed, RehearsedRun
from paddock.cli.submit.manifest_files import fetch_checked
from paddock.cli.submit.script.options import take_one
from paddock.cli.submit.script.requests import find_needed, with_environment
from paddock.cli.submit.script.written_manifest import write_manifests
from paddock.cli.verb import Verb
from paddock.kube.meta import CLAIMS, CONFIG_MAPS, DATASETS, ENVIRONMENTS, NAMESPACES, SECRETS, Resource, name_of
from paddock.script.variables import mask
from paddock.submission.documents import Checked
from paddock.submission.rehearsal import Asked, Rehearsal, count_all_processes, find_roles, plan_rehearsal
from paddock.submission.rehearsal_report import (
    Copied,
    Verdict,
    build_document,
    build_table,
    explain_changes,
    explain_device,
    explain_ended,
    explain_lacking,
    explain_outcome,
    explain_too_many,
    list_unrehearsed,
)
from paddock.submission.rehearsed_pods import Here, find_host_paths
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Names, Phrase, phrase, render

if TYPE_CHECKING:
    from paddock.client.client import Client

_STYLES = {Verdict.STEPPED: "bold green", Verdict.COMPLETED: "bold green", Verdict.UNKNOWN: "bold yellow",
           Verdict.NO_MEMORY: "bold yellow"}  # fmt: skip


@click.command(name="rehearse", cls=Verb)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option("--data", multiple=True, metavar="[VOLUME=]DIR", help="In place of volumes that are not here, a copy of "
              "this directory, at most 200 MB; several times with names of volumes.")  # fmt: skip
@click.option("--steps", type=click.IntRange(min=1), default=2, show_default=True, metavar="N",
              help="End when a rank has told so many steps after its first.")  # fmt: skip
@click.option("--timeout", type=read_seconds, default="5m", show_default=True, metavar="SECONDS",
              help="How long the ranks may run, or wait: 60, 10m.")  # fmt: skip
@click.option("--ranks", type=click.IntRange(min=1), metavar="N", help="At most N workers, however many this machine "
              "bears.")  # fmt: skip
@click.option(
    "-r", "--requirements", type=click.Path(), multiple=True, callback=take_one, metavar="FILE",
    help="Run in an environment of these packages.",
)  # fmt: skip
@click.option("--print", "shown", is_flag=True, help="Print the manifest of the rehearsal and start nothing.")
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", help="How to print the report.")
@click.option("--workdir", type=click.Path(exists=True, file_okay=False), metavar="DIR",
              help="Start the programs in this directory.")  # fmt: skip
@click.option("-n", "--namespace", default="default", metavar="NAME", help="The namespace (default: default).")
def command(
    file: str,
    data: tuple[str, ...],
    steps: int,
    timeout: float,
    ranks: int | None,
    requirements: str | None,
    shown: bool,
    output: str,
    workdir: str | None,
    namespace: str,
) -> int:
    """Would this job of a cluster start? All its ranks run here as processes, for two steps.

    \b
    paddock rehearse job.yaml
    paddock rehearse job.yaml --data ./small
    paddock rehearse job.yaml --data imagenet=./few-images --steps 10
    paddock rehearse job.yaml --ranks 2 -o json
    paddock rehearse job.yaml --print

    Roles, environment, ports and launcher are those of the manifest, under the name NAME-rehearsal. Requests, places
    and queues are taken out; volumes and Secrets that are not here are replaced or left out; images stand for
    environments, as in `paddock run`. Each of it is told, and what could therefore not be rehearsed.

    It ends when a rank has told --steps steps (or an epoch) after its first, when the program ends, or at the first
    failure. Steps are read from what ranks print and from PADDOCK_METRICS. PADDOCK_REHEARSAL is the number of steps,
    in each rank: a program may shorten itself by it. In the end job and pods are gone, logs and outputs stay.

    Exit code: 0 it starts, 1 it fails or does not start, 2 the command or the manifest is wrong, 3 unknown (all ranks
    ran to the end of --timeout and told too few steps), 130 interrupted.
    """
    place = Local(home())
    checked = read_checked(file, namespace, requirements)
    sources = read_data(data)
    if shown:
        asked = Asked(steps, timeout, ranks, sources.keys() - {""}, namespace, str(place_of(place.home) / "NAME"))
        plan = plan_rehearsal(checked, asked, Here())
        _show(plan, measure_sources(choose_sources(plan, sources)), output)
        return 0
    place.start()
    here = asyncio.run(_look(place, checked))
    with make_directory(place.home) as directory:
        asked = Asked(steps, timeout, ranks, sources.keys() - {""}, namespace, str(directory))
        plan = plan_rehearsal(checked, asked, here)
        given = choose_sources(plan, sources)
        if ranks is None and (said := _explain_size(plan, file)):
            raise UserError(said)
        copied = fill_volumes(plan, given)
        with Screen(language=readers_language(), goes_on=True) as screen:
            _tell_plan(screen, plan, copied)
            needed = find_needed(plan.job, Path(requirements) if requirements else None)
            run = RehearsedRun(place, screen, plan, asked, needed=[needed] if needed else [], workdir=workdir)
            rehearsed = asyncio.run(run.run())
            if rehearsed is None:
                screen.notify(phrase("interrupted: the rehearsal and its pods are gone"))
                return 130
    _report(plan, rehearsed, copied, steps, output)
    return rehearsed.outcome.verdict.exit_code


def _show(plan: Rehearsal, copied: dict[str, Copied], output: str) -> None:
    """The documents, as nothing of what they name were here, and beside them how they differ from the file's."""
    manifests = [each.manifest for each in plan.documents]
    if output == "json":
        items = [mask(each) for each in manifests]
        print_answer(write_json({"apiVersion": "v1", "kind": "List", "items": items}, indent=2))
    else:
        print_line(write_manifests(manifests), end="")
    for said in explain_changes(plan, copied):
        print_notice(localized(said))
    if plan.replaced or plan.missing:
        said = phrase(
            "--print looks for nothing here: a rehearsal keeps what is here of volumes, Secrets and ConfigMaps"
        )
        print_notice(localized(said))


def read_checked(file: str, namespace: str, requirements: str | None) -> list[Checked]:
    """The documents of a file with one job, in the environment of its requirements. Raises `UserError`."""
    checked = fetch_checked([file], namespace)
    jobs = [each for each in checked if each.is_job]
    if len(jobs) != 1:
        said = phrase(
            "{file}: a rehearsal is of one job, here are {count}: `paddock validate {file}` says what is in it",
            file=file, count=len(jobs),
        )  # fmt: skip
        raise UserError(said)
    needed = find_needed(jobs[0], Path(requirements) if requirements else None)
    if needed is None:
        return checked
    return [with_environment(each, needed) if each.is_job else each for each in checked]


def read_data(words: Sequence[str]) -> dict[str, Path]:
    """The directories of --data by the volume that is to have them; '' for all others. Raises `UserError`."""
    found = dict[str, Path]()
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or "/" in name:
            name, text = "", word
        path = Path(text)
        if name in found:
            raise UserError(phrase("--data {word}: two directories for the same volumes: leave one out", word=word))
        if not path.is_dir():
            said = phrase("--data {word}: there is no directory {path}", word=word, path=str(path))
            raise UserError(said)
        found[name] = _check_size(path.resolve(), word)
    return found


def _check_size(path: Path, word: str) -> Path:
    try:
        size = measure(path)
    except OSError as error:
        said = phrase(
            "--data {word}: {file}: {why}", word=word, file=str(error.filename), why=explain_unreadable(error)
        )
        raise UserError(said) from error
    except Uncopied as error:
        raise UserError(phrase("{option}: {problem}", option=f"--data {word}", problem=error.said)) from error
    if size > MOST:
        said = phrase(
            "--data {word}: more than {most} MB (a file counts 4 KiB at least): each rehearsal has a copy of its own; "
            "name a directory with a small part of the data",
            word=word, most=MOST // 10**6,
        )  # fmt: skip
        raise UserError(said)
    return path


def choose_sources(plan: Rehearsal, sources: dict[str, Path]) -> dict[str, Path]:
    """The directories by what they stand for. Raises `UserError` for one that no volume has: it was asked for."""
    found, used = dict[str, Path](), set[str]()
    for each in plan.replaced:
        name = next((name for name in sources if name and each.answers_to(name)), "")
        if name in sources:
            found[each.what] = sources[name]
            used.add(name)
    for name, source in sources.items():
        if name not in used:
            raise UserError(_explain_unused(plan, name, source))
    return found


def measure_sources(given: dict[str, Path]) -> dict[str, Copied]:
    """What is told of the copies, by `Replaced.what`. Raises OSError, `Uncopied`."""
    return {what: Copied(str(source), measure(source)) for what, source in given.items()}


def fill_volumes(plan: Rehearsal, given: dict[str, Path]) -> dict[str, Copied]:
    """As `measure_sources`, once they are copied. Raises `Failed` for a file that cannot be copied."""
    try:
        copied = measure_sources(given)
        fill(plan.replaced, given)
    except OSError as error:
        why = explain_unreadable(error)
        raise Failed(phrase("{file} cannot be copied: {why}", file=str(error.filename or "-"), why=why)) from error
    except Uncopied as error:  # it has changed since it was measured
        raise Failed(error.said) from error
    return copied


def _explain_unused(plan: Rehearsal, name: str, source: Path) -> Phrase:
    known = Names(tuple(each.volume for each in plan.replaced) or ("-",))
    if name:
        return phrase(
            "--data {name}={path}: no volume of the job is called so, or stands for that; replaced are {known}",
            name=name, path=str(source), known=known,
        )  # fmt: skip
    return phrase(
        "--data {path}: no volume is left that would have it (replaced are {known}): leave it out, or name a volume "
        "that is here: --data VOLUME={path}",
        path=str(source), known=known,
    )  # fmt: skip


async def _look(place: Local, checked: Sequence[Checked]) -> Here:
    """What is here of what the job may name."""
    each = next(each for each in checked if each.is_job)
    paths = [
        path for _, role in find_roles(each.manifest["spec"]) for path in find_host_paths(role["template"]["spec"])
    ]

    async def names(client: Client, resource: Resource) -> frozenset[str]:
        return frozenset(map(name_of, (await client.list(resource, each.key.namespace)).items))

    async with connect(place) as client:
        namespaces = frozenset(map(name_of, (await client.list(NAMESPACES)).items))
        environments = frozenset(map(name_of, (await client.list(ENVIRONMENTS)).items))
        there = frozenset(path for path in paths if Path(path).exists())
        if each.key.namespace not in namespaces:
            return Here(namespaces, environments=environments, paths=there)
        return Here(
            namespaces,
            environments=environments,
            claims=await names(client, CLAIMS),
            secrets=await names(client, SECRETS),
            config_maps=await names(client, CONFIG_MAPS),
            datasets=await names(client, DATASETS),
            paths=there,
        )


def _explain_size(plan: Rehearsal, file: str) -> Phrase | None:
    import psutil

    job = plan.job.job
    assert job is not None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return explain_too_many(count_all_processes(job), cores, psutil.virtual_memory().available, job, file)


def _tell_plan(screen: Screen, plan: Rehearsal, copied: dict[str, Copied]) -> None:
    assert plan.job.job is not None
    screen.line(build_head(plan.job.job, screen.language))
    for said in explain_changes(plan, copied):
        screen.notify(said)


def _report(plan: Rehearsal, rehearsed: Rehearsed, copied: dict[str, Copied], steps: int, output: str) -> None:
    language, outcome = readers_language(), rehearsed.outcome
    subject = _build_subject(plan, rehearsed)
    logs = f"paddock logs {plan.job.key.name}{Local(home()).flags.of(plan.job.key.namespace)}"
    if output == "json":
        findings = build_findings([subject], language)["subjects"][0]["findings"] if subject else []
        more: dict[str, Any] = {
            "cause": rehearsed.cause,
            "findings": findings,
            "lastLines": [render(each, language) for each in rehearsed.last],
            "logs": logs,
            "outputs": str(rehearsed.outputs or ""),
        }
        print_answer(write_json(build_document(plan, outcome, steps, copied, language, more), indent=2))
        return
    print_fitted(lambda _: build_table(outcome.roles, language), cut=False)
    console = stdout()
    for said in rehearsed.last:
        console.print(styled(render(said, language)), soft_wrap=True)
    if subject is not None and subject.findings:
        print_text(console, [subject], language)
    if outcome.wants_device:
        job = plan.job.job
        console.print(styled(localized(explain_device(job.framework if job else ""))), soft_wrap=True)
    if outcome.lacks is not None:
        console.print(styled(localized(explain_lacking(outcome.lacks, copied))), soft_wrap=True)
    if outcome.ended and outcome.verdict is not Verdict.UNKNOWN:  # of which the last sentence tells it
        console.print(styled(localized(explain_ended(outcome.ended))), soft_wrap=True)
    console.print(styled(localized(phrase("not rehearsed:"))))
    has_data = all(each.what in copied for each in plan.replaced)
    for each in list_unrehearsed(plan, copied=has_data):
        console.print(styled(f"  {localized(each.said)}"), soft_wrap=True)
    kept = phrase("logs: {command}", command=logs)
    if rehearsed.outputs:
        kept = phrase("{logs}      outputs: {path}", logs=kept, path=str(rehearsed.outputs))
    console.print(styled(localized(kept)), soft_wrap=True)
    style = _STYLES.get(outcome.verdict, "bold red")
    console.print(styled(localized(explain_outcome(outcome, steps)), style), soft_wrap=True)


def _build_subject(plan: Rehearsal, rehearsed: Rehearsed) -> Subject | None:
    if rehearsed.looked is None:
        return None
    key = plan.job.key
    said = phrase("what its ranks printed")
    findings = choose_findings(rehearsed.looked.findings, rehearsed.outcome)
    return Subject(f"{plan.job.resource.kind} {key}", findings, said)

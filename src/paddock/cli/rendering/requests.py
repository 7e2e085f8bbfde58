"""What was typed after `paddock render` -> the request of a place: the one job of a file, and the machines. Reads the
file; all else is pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from paddock.cli.cluster.errors import UserError
from paddock.cli.output.language import localized, readers_language
from paddock.cli.output.terminal import stderr
from paddock.cli.submit.manifest_files import fetch_reading
from paddock.cli.submit.report import build_lines
from paddock.jobs.model import PORTS_IN_BLOCK
from paddock.jobs.objects.mounted import write_volumes
from paddock.kube.meta import CONFIG_MAPS, SECRETS, Manifest, metadata
from paddock.places.hosts import Host, WrongHosts, read_hosts
from paddock.places.programs import build_programs
from paddock.places.registry import PLACES
from paddock.places.rendering import Ability, Hosts, Platform, Request, Unplaceable
from paddock.preflight import format_problem
from paddock.submission.documents import Checked
from paddock.submission.reading import Reading
from paddock.words.phrases import Names, Phrase, counted, phrase

HIGHEST_PORT = 65535
_HERE = "127.0.0.1"
_NOTHING = phrase("nothing is written")


def read_request(file: str, place: Platform, hosts: str | None, port: int | None, name: str, namespace: str) -> Request:
    """The request of `paddock render FILE`. `name`: of the job, empty where the file has one alone. Warnings of the
    file go to stderr; raises `UserError` with every mistake."""
    reading = fetch_reading(file, namespace)
    if reading.wrong:
        raise UserError(*build_lines([reading], readers_language()), _NOTHING)
    for problem in reading.problems:
        stderr().print(format_problem(problem, reading.file, readers_language()))
    chosen = _choose_job(reading, name)
    job = chosen.job
    assert job is not None
    for said in explain_rest(reading, chosen, place):
        stderr().print(localized(phrase("warning: {said}", said=said)))
    others = tuple(each.manifest for each in reading.placed if each.job is None)
    request = Request(write_volumes(job), chosen.manifest, reading.file, others=others)
    machines = _read_machines(place, hosts)
    if not machines:
        _refuse_port(place, port)
        return request
    return _on_machines(request, machines, port)


def _choose_job(reading: Reading, name: str) -> Checked:
    jobs = [each for each in reading.placed if each.job is not None]
    if not jobs:
        raise UserError(phrase("{file}: there is no job in it", file=reading.file))
    names = Names(tuple(_name_of(each.manifest) for each in jobs))
    wanted = [each for each in jobs if not name or _name_of(each.manifest) == name]
    if not wanted:
        raise UserError(phrase("{file} has no job {name}: it has {names}", file=reading.file, name=name, names=names))
    if len(wanted) > 1:
        raise UserError(
            phrase(
                "{file} has {count} jobs, {names}: --job says which one is rendered",
                file=reading.file,
                count=len(wanted),
                names=names,
            )
        )
    return wanted[0]


def explain_rest(reading: Reading, chosen: Checked, place: Platform) -> Iterator[Phrase]:
    """A sentence for each document of the file that is not rendered. Values of ConfigMaps and Secrets are read where
    the job names them. Pure."""
    placed = {id(each.document): each for each in reading.placed}
    for document in reading.documents:
        each = placed.get(id(document))
        manifest = document.manifest
        if each is chosen or not manifest:
            continue
        name = f"{manifest.get('kind')} {_name_of(manifest)}".rstrip()
        if each is not None and each.job is not None:
            yield phrase("{object} is not rendered: --job {name} does it", object=name, name=_name_of(manifest))
        elif each is None or not (Ability.OBJECTS in place.has or each.resource in (CONFIG_MAPS, SECRETS)):
            yield phrase("{object} is not rendered: {place} gets the job alone", object=name, place=place.title)


def _name_of(manifest: Manifest) -> str:
    told = metadata(manifest)
    return str(told.get("name") or str(told.get("generateName") or "").rstrip("-."))


def _read_machines(place: Platform, text: str | None) -> tuple[Host, ...]:
    if place.hosts is Hosts.NAMED:
        if text is None:
            wanted = phrase(
                "--to {place} wants the machines: --hosts 10.0.0.1,10.0.0.2, addresses or names, rank 0 on the first",
                place=place.name,
            )
            raise UserError(wanted)
        try:
            return read_hosts(text)
        except WrongHosts as wrong:
            raise UserError(wrong.said) from wrong
    if text is not None:
        raise UserError(_explain_unasked(place))
    return (Host(_HERE, 0),) if place.hosts is Hosts.ONE else ()


def _explain_unasked(place: Platform) -> Phrase:
    names = Names(tuple(f"--to {each.name}" for each in PLACES.values() if each.hosts is Hosts.NAMED), "or")
    if place.hosts is Hosts.ONE:
        return phrase(
            "--to {place} is for one machine, the one where its files are used: leave --hosts out, or take {others}",
            place=place.name,
            others=names,
        )
    return phrase(
        "--to {place} has its machines from the platform: leave --hosts out; it is for {others}",
        place=place.name,
        others=names,
    )


def _refuse_port(place: Platform, port: int | None) -> None:
    if port is not None:
        raise UserError(phrase("--to {place} has no --port: the platform chooses it", place=place.name))


def _on_machines(request: Request, hosts: Sequence[Host], port: int | None) -> Request:
    job = request.job
    if job.size == 0:
        raise UserError(phrase("{name} has no ranks: its roles have 0 replicas", name=job.key.name))
    try:
        programs = build_programs(job, hosts, request.others, port)
    except Unplaceable as error:
        raise UserError(*error.reasons, _NOTHING) from error
    highest = max(each.port for each in programs) + PORTS_IN_BLOCK - 1
    if highest > HIGHEST_PORT:
        said = phrase(
            "--port {port} is too high: the {count} ranks of a machine take the ports up to {highest}, and {most} is "
            "the last one",
            port=port or programs[0].port, count=max(each.slot for each in programs) + 1, highest=highest,
            most=HIGHEST_PORT,
        )  # fmt: skip
        raise UserError(said)
    used = {each.host for each in programs}
    unused = [host.name for host in hosts if host not in used]
    if unused:
        said = counted(
            "{names} has nothing to run: the job has {ranks} ranks on {used} machines",
            "{names} have nothing to run: the job has {ranks} ranks on {used} machines",
            names=Names(tuple(unused)), ranks=job.size, used=len(used), count=len(unused),
        )  # fmt: skip
        stderr().print(localized(phrase("warning: {said}", said=said)))
    return replace(request, hosts=tuple(host for host in hosts if host in used), programs=programs)

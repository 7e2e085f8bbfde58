"""The options of a typed command, for `paddock run` and `paddock init`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

import click

from paddock.cli.cluster.errors import UserError
from paddock.cli.output.language import localized
from paddock.cli.output.periods import read_hold, read_seconds, write_seconds
from paddock.history.notes import clean_text, explain_tags, explain_text, read_tags
from paddock.kube.gpu_shares import FEWEST_SHARES, MOST_SHARES
from paddock.kube.validation.names import DNS_SUBDOMAIN
from paddock.script.amounts import explain_wrong_cpus, explain_wrong_memory
from paddock.words.phrases import Phrase, phrase

SHARE_HELP = "Up to N ranks may share the one GPU that each asks for; on the local cluster."
Command = TypeVar("Command", bound=Callable[..., Any])
FRAMEWORKS = ("paddle", "pytorch", "jax", "none")
"""The keys of `script.kinds.SCRIPT_KINDS`, which help does not import."""

NO_REQUIREMENTS = "none"
"""The value of -r by which a requirements.txt that lies there is left out."""
RESUME, RUN_TO_RESUME = "--resume", "--resume-run"
"""click has no option whose value may be left out unless it takes the next word for one, which may be FILE here. So
`CommandVerb` reads `--resume=3` as `--resume-run=3`, which nobody needs to know."""


class ResumedRun(click.Option):
    def get_error_hint(self, ctx: click.Context | None) -> str:
        return f"'{RESUME}'"


def read_cpus(text: str) -> str:
    """`--cpus`, as it is typed."""
    return _read_amount(text, explain_wrong_cpus)


def read_memory(text: str) -> str:
    """`--memory`, as it is typed."""
    return _read_amount(text, explain_wrong_memory)


def _read_amount(text: str, explain: Callable[[str], Phrase | None]) -> str:
    if (wrong := explain(text)) is not None:
        raise click.BadParameter(localized(wrong))
    return text


class RequirementsFile(click.Path):
    """A file, or `none`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == NO_REQUIREMENTS else super().convert(value, param, ctx)


def take_one(_context: click.Context, _parameter: click.Parameter, files: tuple[str, ...]) -> str | None:
    """`-r`: pip takes several, and of several click would take the last alone. A file of the name `none` is ./none."""
    if len(files) > 1:
        said = phrase("one file is taken, and {count} are named: name the others in {file}, each in a line `-r FILE`",
                      count=len(files), file=files[0])  # fmt: skip
        raise click.BadParameter(localized(said))
    return files[0] if files else None


def read_name(text: str) -> str:
    """`--queue` and `--priority`: the name of an object."""
    if not DNS_SUBDOMAIN.allows(text):
        said = phrase(
            "{name} is no name of an object: small letters, digits, '-' and '.', at most {most}",
            name=repr(text), most=DNS_SUBDOMAIN.longest,
        )  # fmt: skip
        raise click.BadParameter(localized(said))
    return text


def take_tags(_context: click.Context, _parameter: click.Parameter, tags: tuple[str, ...]) -> tuple[str, ...]:
    """`--tag a --tag b,c`: each once."""
    known = read_tags(",".join(tags))
    if (wrong := explain_tags(known)) is not None:
        raise click.BadParameter(localized(wrong))
    return known


def read_note(text: str) -> str:
    """`--note`, as it is kept."""
    cleaned = clean_text(text)
    if (wrong := explain_text(cleaned)) is not None:
        raise click.BadParameter(localized(wrong))
    return cleaned


queue_option: Callable[[Command], Command] = click.option(
    "--queue",
    type=read_name,
    default=None,
    metavar="NAME",
    help="Wait in this queue of the cluster: Kueue's, or Volcano's.",
)
priority_option: Callable[[Command], Command] = click.option(
    "--priority",
    type=read_name,
    default=None,
    metavar="NAME",
    help="The PriorityClass of the ranks, and of the job in its queue.",
)
tag_option: Callable[[Command], Command] = click.option(
    "--tag", "tags", multiple=True, callback=take_tags, metavar="TAG",
    help="A word by which history and the console find the run again. Repeatable.",
)  # fmt: skip
note_option: Callable[[Command], Command] = click.option(
    "--note", type=read_note, default="", metavar="TEXT", help="What is to be remembered of the run; history shows it."
)
_OPTIONS = (
    click.option("--name", default=None, metavar="NAME", help="What the job is called (default: as the script)."),
    click.option(
        "--workers", type=click.IntRange(1), default=None, metavar="N",
        help="How many workers train together (default: 1). Two or more of PaddlePaddle start by "
        "paddle.distributed.launch.",
    ),
    click.option(
        "--ps", "servers", type=click.IntRange(1), default=None, metavar="N",
        help="How many parameter servers of PaddlePaddle: they run the same command.",
    ),
    click.option(
        "--gpus", type=click.IntRange(1), default=None, metavar="N", help="GPUs of each worker (default: none)."
    ),
    click.option(
        "--cpus", type=read_cpus, default=None, metavar="N",
        help="CPUs that each rank asks for: 2, 500m. It may have more where nobody else needs them.",
    ),
    click.option(
        "--memory", type=read_memory, default=None, metavar="SIZE",
        help="Memory that each rank asks for, and its limit: 4Gi, 512Mi.",
    ),
    queue_option,
    priority_option,
    click.option(
        "--share-gpu", "shares", type=click.IntRange(FEWEST_SHARES, MOST_SHARES), default=None, metavar="N",
        help=SHARE_HELP,
    ),
    click.option(
        "-r", "--requirements", type=RequirementsFile(exists=True, dir_okay=False), multiple=True, callback=take_one,
        metavar="FILE",
        help="Train in an environment with these packages, which is built and kept (default: the requirements.txt "
        "that lies there; none: leave it out).",
    ),
    click.option(
        "--env", "env", multiple=True, metavar="NAME[=VALUE]",
        help="An environment variable; without a value, that of this shell. Repeatable.",
    ),
    click.option(
        "--env-file", "env_files", multiple=True, type=click.Path(), metavar="FILE",
        help="Variables in lines NAME=VALUE. They go by a Secret and are never printed.",
    ),
    click.option(
        "--secret", "secrets", multiple=True, metavar="NAME",
        help="A variable of this shell. It goes by a Secret and is never printed.",
    ),
    click.option(
        "--restarts", type=click.IntRange(0), default=None, metavar="N",
        help="How often a job that failed is started again (default: 0).",
    ),
    click.option(
        "--end-wait", type=read_seconds, default=None, metavar="TIME",
        help="End ranks that run this long after the first has ended well: 60, 10m (default: they are waited for).",
    ),
    click.option(
        "--hold", type=read_hold, default=None, metavar="TIME",
        help="Keep a rank that failed for so long, for paddock shell: 30m, 2h. On the local cluster.",
    ),
    click.option(
        "--data", "data", multiple=True, metavar="NAME:/PATH",
        help="Mount this dataset there, read-only; the job waits until it is fetched. Repeatable.",
    ),
    click.option(
        "--resume", is_flag=True,
        help="Begin with the checkpoints of the last run of this name; --resume=3: with those of run 3.",
    ),
    click.option("resumed_run", RUN_TO_RESUME, type=click.IntRange(1), default=None, hidden=True, cls=ResumedRun),
    click.option(
        "--outputs", default=None, metavar="CLAIM",
        help="On a cluster: keep what each run writes in this claim (PersistentVolumeClaim).",
    ),
    tag_option,
    note_option,
    click.option("--image", default=None, metavar="IMAGE", help="The image (default: the framework's)."),
    click.option(
        "--framework", type=click.Choice(list(FRAMEWORKS)), default=None,
        help="What the program trains with, where its imports do not tell. none: no framework is added.",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScriptOptions:
    """As typed; None and empty for what was not typed."""

    name: str | None = None
    workers: int | None = None
    servers: int | None = None
    """--ps."""
    gpus: int | None = None
    cpus: str | None = None
    memory: str | None = None
    queue: str | None = None
    priority: str | None = None
    shares: int | None = None
    """--share-gpu."""
    requirements: str | None = None
    """-r; `NO_REQUIREMENTS` for none."""
    env: tuple[str, ...] = ()
    env_files: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    restarts: int | None = None
    """--restarts."""
    end_wait: float | None = None
    """Seconds."""
    hold: int | None = None
    """Seconds."""
    data: tuple[str, ...] = ()
    resume: str = ""
    """The value of the annotation (`jobs.labels.RESUME_ANNOTATION`); empty for none."""
    outputs: str | None = None
    """The claim of --outputs."""
    tags: tuple[str, ...] = ()
    note: str = ""
    image: str | None = None
    framework: str | None = None
    workdir: str | None = None
    """The value of --workdir."""
    push: str | None = None
    """The value of --push."""
    image_python: str | None = None
    """The value of --image-python."""
    namespace: str = "default"
    """Of the command."""

    @property
    def requirements_path(self) -> Path | None:
        return Path(self.requirements) if self.requirements not in (None, NO_REQUIREMENTS) else None


WHAT = ("--ps", "--framework", "--image", "--end-wait", "--print")
WITH_WHAT = ("--memory", "--share-gpu", "--without", "--env-file", "--secret", "--outputs", "--storage",
             "--storage-class")  # fmt: skip
WHERE = ("--workdir", "--sandbox", "--context", "--kubeconfig", "--namespace", "--queue", "--priority", "--push",
         "--image-python")  # fmt: skip
WHILE_IT_RUNS = ("--tag", "--note", "--rank", "--role", "--raw", "--watch", "--timeout", "--hold", "--on-end", "--help")
"""Groups of `--help`, behind the options that are in none: those of the first day, which are declared first."""


def script_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_options(typed: Mapping[str, Any], workdir: str | None, namespace: str) -> ScriptOptions:
    words = {name: value for name, value in typed.items() if name not in ("resume", "resumed_run")}
    resume = write_resume(typed["resumed_run"] or typed["resume"])
    return ScriptOptions(**words, resume=resume, workdir=workdir, namespace=namespace)


def write_resume(asked: bool | int) -> str:
    """`ScriptOptions.resume`: of the number of a run, True for the last, False for none. Pure."""
    return str(asked) if type(asked) is int else "true" if asked else ""


def refuse_with_file(options: ScriptOptions, file: str) -> None:
    """Raises `UserError` for an option that makes a manifest, where there is one."""
    made = {
        "--name": options.name, "--workers": options.workers, "--ps": options.servers, "--gpus": options.gpus,
        "--cpus": options.cpus, "--memory": options.memory,
        "--restarts": options.restarts, "--image": options.image,
        "--framework": options.framework,
    }  # fmt: skip
    if options.end_wait is not None:
        from paddock.jobs.apis.success import write_success  # late: for a sentence alone
        from paddock.jobs.labels import SUCCESS_ANNOTATION

        raise UserError(
            phrase(
                "{option} is for a program (`paddock run {option} {value} -- python train.py`); in {file} the "
                "annotation `{annotation}` of the job says it: leave {option} out",
                option="--end-wait", value=write_seconds(options.end_wait), file=file,
                annotation=f"{SUCCESS_ANNOTATION}: {write_success(ceil(options.end_wait))}",
            )
        )  # fmt: skip
    for option, value in made.items():
        if value is not None:
            raise UserError(
                phrase(
                    "{option} is for a program (`paddock run {option} {value} -- python train.py`); of {file} its "
                    "fields say it: leave {option} out",
                    option=option, value=str(value), file=file,
                )
            )  # fmt: skip

"""All pages of the reference: path below docs/reference and text, in a language. Pure, but that it is given the texts
of the package's modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from manual.reference.causes import build_causes
from manual.reference.commands import build_commands
from manual.reference.fields import build_fields, list_kinds
from manual.reference.markdown import code, join
from manual.reference.names import build_names, find_names
from manual.reference.reader import Reader
from manual.reference.variables import build_variables

Build = Callable[[Reader], str]


def build_pages(sources: Iterable[str], reader: Reader) -> dict[str, str]:
    """`causes.md` -> its text. `sources`: the texts of the package's modules."""
    pages: dict[str, Build] = {
        "commands": build_commands,
        "causes": build_causes,
        **{f"fields/{crd['metadata']['name']}": partial(build_fields, crd) for crd in list_kinds()},
        "names": partial(build_names, find_names(sources)),
        "variables": build_variables,
    }
    built = {f"{name}{reader.end}": with_link(name, build(reader), reader) for name, build in pages.items()}
    return {f"README{reader.end}": with_link("README", _build_index(reader), reader), **built}


def with_link(name: str, text: str, reader: Reader) -> str:
    """With a link to the page in the other language below its title."""
    other, label = (".zh-CN.md", "中文") if reader.language == "en" else (".md", "English")
    title, _, rest = text.partition("\n\n")
    return f"{title}\n\n[{label}]({name.rpartition('/')[2]}{other})\n\n{rest}"


def _build_index(reader: Reader) -> str:
    say, end = reader.say, reader.end
    rows: Mapping[str, str] = {
        f"[{say('Every command')}](commands{end})": say("its options, examples and exit codes"),
        f"[{say('Every cause, and its cure')}](causes{end})": say(
            "why a job waits, restarts or has ended, and what to do"
        ),
        f"[{say('Labels and annotations')}](names{end})": say("under `paddock.dev/`"),
        f"[{say('Environment variables')}](variables{end})": say(
            "those that Paddock reads, and those that a rank gets"
        ),
        f"[{say('Metrics')}](../operator{end}#{'metrics' if end == '.md' else '指标'})": say(
            "of the operator, with their labels"
        ),
    }
    kinds = [
        f"- [{crd['spec']['names']['kind']}](fields/{crd['metadata']['name']}{end}): {code(crd['spec']['group'])}"
        for crd in list_kinds()
    ]
    return join(
        [
            f"# {say('Reference')}",
            say("Made from the code by `make reference`, so it says what this version does."),
            "\n".join(f"- {link}: {text}" for link, text in rows.items()),
            f"## {say('Every field')}",
            "\n".join(kinds),
        ]
    )

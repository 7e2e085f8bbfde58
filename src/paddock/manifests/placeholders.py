"""Placeholders of templates that are not rendered yet: the program and the command that render them.

The content of braces shows the program: `.Values` is Helm's, `inputs.` Argo's, `.Name` of other programs in Go, `{% %}`
and all others Jinja's.
`$(NAME)` is no placeholder: Kubernetes expands it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from paddock.words.phrases import Phrase, phrase

_BRACES = re.compile(r"\{\{.{0,300}?\}\}|\{%.{0,300}?%\}")
"""The length is a limit for the time of the search: else each opening brace looks through the whole line."""
_OF_HELM = re.compile(
    r"\{\{-?\s*(?:[\w(].*[\s(])?"
    r"(?:\.(?:Values|Release|Chart|Capabilities|Files|Template)\b|(?:include|template|define|tpl|toYaml)\s)"
)
_OF_GO = re.compile(r"\{\{-?\s*(?:[.$]\w|(?:if|range|with|else|end|block|define|template)\b)|\{\{-?\s*\.\s*-?\}\}")
"""Of Go's text/template: fields begin with a dot, variables with $, and words that Jinja has between {% and %}."""
_OF_ARGO = re.compile(r"\{\{\s*(?:=|(?:inputs|outputs|workflow|tasks|steps|item|pod)\b)")
_FORMS = (
    ("katib", re.compile(r"\$\{trialParameters\.[\w.-]+\}")),
    ("shell", re.compile(r"\$\{\w+:?[-=?+][^{}]*\}")),
    ("envsubst", re.compile(r"\$\{\w+\}|\$[A-Za-z_]\w*")),
    ("sed", re.compile(r"<[A-Za-z][\w .:/-]*>|__[A-Z][A-Z0-9_]*?__")),
)
_MOST_NAMED = 8
_LOOKED_AT = 2_000
"""Characters of a value: a limit for the time of the search; longer values are programs."""

_SENTENCES = {
    "helm": phrase(
        "this is a template of Helm that is not filled in yet ({names}): `helm template CHART | paddock run -` fills "
        "it in"
    ),
    "jinja": phrase(
        "this is a template of Jinja that is not filled in yet ({names}): `{command}` fills it in (after "
        "`pip install jinja2-cli`)"
    ),
    "go": phrase(
        "this is a template of Go that is not filled in yet ({names}): the program that it was written for fills it "
        "in, or `gomplate -c .=values.yaml -f FILE | paddock run -`"
    ),
    "argo": phrase("Argo Workflows fills in {names}: write values in their place"),
    "katib": phrase("Katib fills in {names}, for each trial anew: write values in their place"),
    "shell": phrase("for you to fill in: {names}; write the values, as envsubst leaves a placeholder with a default"),
    "envsubst": phrase("not filled in yet: {names}; `{command}` fills in all of them"),
    "sed": phrase("for you to fill in: {names}; write the values, or use `{command}`"),
}


class Template(NamedTuple):
    """The placeholders of one program, in the order of the text. `start`: the position of the first."""

    program: str
    names: tuple[str, ...]
    start: int = 0


def find_template(text: str) -> Template | None:
    """The template in a text that is no valid YAML; only placeholders with braces make YAML invalid."""
    matches = list(_BRACES.finditer(_without_comments(text)))
    if not matches:
        return None
    names = tuple(dict.fromkeys(match[0] for match in matches))
    return Template(_program_of_braces(names), names, matches[0].start())


def find_placeholders(value: str) -> Iterator[tuple[str, str]]:
    """Program and placeholder, for each placeholder in a value."""
    value = value[:_LOOKED_AT]
    for match in _BRACES.finditer(value):
        yield _program_of_braces((match[0],)), match[0]
    rest = _BRACES.sub("", value)
    for program, form in _FORMS:
        for match in form.finditer(rest):
            yield program, match[0]
        rest = form.sub("", rest)


def _program_of_braces(names: tuple[str, ...]) -> str:
    if any(_OF_HELM.match(name) for name in names):
        return "helm"
    if any(_OF_ARGO.match(name) for name in names):
        return "argo"
    return "go" if any(_OF_GO.match(name) for name in names) else "jinja"


def _without_comments(text: str) -> str:
    """The text with spaces in place of YAML comments, so that positions stay."""
    return re.sub(r"(?m)^[ \t]*#.*$", lambda match: " " * len(match[0]), text)


def explain_placeholders(template: Template) -> Phrase:
    """One sentence with all placeholders and the command that fills them in."""
    shown = ", ".join(template.names[:_MOST_NAMED])
    more = len(template.names) - _MOST_NAMED
    names = phrase("{names} and {count} more", names=shown, count=more) if more > 0 else shown
    return phrase(_SENTENCES[template.program].text, names=names, command=_command(template))


def _command(template: Template) -> str:
    if template.program == "jinja":
        given = "".join(f" -D {name}=VALUE" for name in _variables_of_jinja(template.names))
        return f"jinja2 FILE{given} | paddock run -"
    if template.program == "envsubst":
        names = dict.fromkeys(name.strip("${}") for name in template.names)
        given = " ".join(f"{name}=VALUE" for name in names)
        # named one by one: envsubst would also replace the variables of a shell command, by nothing
        wanted = " ".join(f"${{{name}}}" for name in names)
        return f"{given} envsubst '{wanted}' < FILE | paddock run -"
    if template.program != "sed":
        return ""
    return f"sed '{'; '.join(f's|{name}|VALUE|g' for name in template.names)}' FILE | paddock run -"


_OF_JINJA = re.compile(
    r"\{%[-+]?\s*(?:for\s+(?P<each>[\w\s,()]+?)\s+in|(?:if|elif)(?:\s+not)?|set\s+(?P<own>\w+)\s*=)\s*(?P<of>[A-Za-z_]\w*)?"
    r"|\{\{[-+]?\s*(?P<value>[A-Za-z_]\w*)"
)


def _variables_of_jinja(names: tuple[str, ...]) -> list[str]:
    """The variables that the template reads and does not make itself, by a loop or `set`."""
    read: dict[str, None] = {}
    made = {"loop", "true", "false", "none", "range", "dict", "True", "False", "None"}
    for match in filter(None, map(_OF_JINJA.match, names)):
        made.update(re.findall(r"\w+", match["each"] or match["own"] or ""))
        read |= dict.fromkeys(filter(None, (match["of"], match["value"])))
    return [name for name in read if name not in made]

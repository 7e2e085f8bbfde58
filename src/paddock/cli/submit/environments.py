"""Options of `paddock env create` -> an Environment, or all problems at once. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from paddock.cli.cluster.errors import UserError
from paddock.cli.submit.requirements import Requirements, explain_url
from paddock.jobs.text.phrases import Phrase, phrase
from paddock.kube.meta import ENVIRONMENTS, Manifest


def build_environment(
    name: str,
    read: Sequence[Requirements],
    images: Sequence[str],
    index_url: str,
    extra: Sequence[str],
    variables: Sequence[str],
    python: str,
) -> Manifest:
    """The Environment. Options override the files. Raises `UserError` with every problem at once."""
    problems = [problem for each in read for problem in each.problems]
    problems += [_of_option("--index-url", said) for said in (explain_url(index_url) if index_url else None,) if said]
    problems += [_of_option("--extra-index-url", said) for each in extra if (said := explain_url(each))]
    problems += [said for each in variables if (said := _explain_variable(each))]
    problems += [_of_option("--python", said) for said in (explain_python(python),) if said]
    if problems:
        raise UserError(*problems, phrase("nothing was created"))
    urls = [each.index_url for each in read if each.index_url]
    spec: dict[str, Any] = {
        "images": list(images),
        "python": python,
        "requirements": list(dict.fromkeys(package for each in read for package in each.packages)),
        "indexURL": index_url or (urls[-1] if urls else ""),
        "extraIndexURLs": list(extra) or [url for each in read for url in each.extra_index_urls],
        "env": [{"name": key, "value": value} for key, value in dict(each.split("=", 1) for each in variables).items()],
    }
    return {
        "apiVersion": ENVIRONMENTS.api_version,
        "kind": ENVIRONMENTS.kind,
        "metadata": {"name": name},
        "spec": {key: value for key, value in spec.items() if value},
    }


def _of_option(option: str, problem: Phrase | str) -> Phrase:
    return phrase("{option}: {problem}", option=option, problem=problem)


def _explain_variable(text: str) -> Phrase | None:
    name, equals, _ = text.partition("=")
    if equals and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", name):
        return None
    return phrase("--env: found {found}; NAME=VALUE is wanted, as in FLAGS_use_mkldnn=1", found=repr(text))


def explain_python(specifier: str) -> Phrase | str | None:
    """Why it is no valid specifier of a Python version; None if it is valid."""
    from paddock.environments.pythons import match_version

    if re.fullmatch(r"\d+\.\d+", specifier):
        return phrase("found {found}; did you mean {suggestion}?", found=specifier, suggestion=f"=={specifier}.*")
    try:
        match_version(specifier, (3, 11, 0))
    except ValueError as error:
        return str(error)
    return None

"""Translates the messages about Environments: of a build that runs, and of one that failed.

The local cluster writes these messages, in English and without codes, into the status of an Environment and of the pods
that wait for it, as any client of the API may read them. So each is recognised by its text, with any value in its
placeholders. Source: `paddock.environments`, `failures` and `states`. A message without a row stays English.
"""

from __future__ import annotations

import re
from functools import cache, partial

from paddock.jobs.text.catalogues import translate


def _sentence(text: str) -> str:
    return text


_SENTENCES = (
    # while it is built
    _sentence("waiting for another build of {subject}"),
    _sentence("{subject}, the network failed: try {count} of {most}"),
    _sentence("building {subject} failed: {why}"),
    _sentence("building ({subject})"),
    _sentence("fetching {subject}"),
    _sentence("{subject} is built when a pod needs it"),
    _sentence("the programs of this machine; nothing to build"),
    # why it cannot be built
    _sentence("the disk is full: free some space where {path} is, or set XDG_CACHE_HOME to a directory with more"),
    _sentence(
        "cannot write {file}: {why}; environments are kept under {path}: make it writable, or set XDG_CACHE_HOME to a "
        "directory that is"
    ),
    _sentence(
        "permission denied: {why}; make {path} and uv's cache (UV_CACHE_DIR) writable, or set XDG_CACHE_HOME to a "
        "directory that is"
    ),
    _sentence(
        "the proxy does not let the package index through: check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or the proxy "
        "of pip's settings (`pip config list`)"
    ),
    _sentence("the package index of spec.indexURL{where} did not answer: check the network, and the URL"),
    _sentence(
        "the package index did not answer{where}: check the network, or set UV_DEFAULT_INDEX or PIP_INDEX_URL to an "
        "index that can be reached from here"
    ),
    _sentence(
        "the package index's certificate is not trusted here: set PIP_CERT or SSL_CERT_FILE to a file with your "
        "organisation's certificates"
    ),
    _sentence(
        "the package index refused access: check the user name and password in its URL (UV_DEFAULT_INDEX, "
        "PIP_INDEX_URL), in ~/.netrc, or in the Environment's spec.indexURL"
    ),
    _sentence("uv works offline here and has not all of {packages}: unset UV_OFFLINE for the first build"),
    _sentence("Python {version} is too new for {subject}: install {allowed}"),
    _sentence("Python {version} is too old for {subject}: install {allowed}"),
    _sentence("{subject} has no wheel for Python {version}: install another Python"),
    _sentence("{subject} has no wheel for {machine}: it has wheels for {machines}; use {other}"),
    _sentence(
        "spec.requirements: the package index of spec.indexURL does not have {package}: check the name, and the URL"
    ),
    _sentence("spec.requirements: no package index here has {package}: check the name, or set spec.indexURL"),
    _sentence("spec.requirements ({packages}) cannot be met: {why}"),
    _sentence(
        "{subject} has no wheel for Python {version} on this machine and has to be compiled, and this machine has no "
        "compiler: {install}"
    ),
    _sentence(
        "{subject} has no wheel for Python {version} on this machine and does not compile: {file} is missing; choose a "
        "version that has a wheel, or install the development package that has this file"
    ),
    _sentence(
        "{subject} has no wheel for Python {version} on this machine and could not be built: {why}; choose a version "
        "that has a wheel"
    ),
    _sentence("spec.requirements: not a requirement: {why}; found {found}, wanted the form name==1.2 or name>=1,<2"),
    _sentence("{subject} was installed but does not pass the environment's check (spec.verify): {why}"),
    _sentence("{subject} was installed, but the check (spec.verify) had not ended after {seconds} s"),
    _sentence("a distribution with glibc (Debian, Ubuntu, Fedora)"),
    _sentence("one of these machines"),
    _sentence(" (tried {count} times)"),
    # the image stands for none
    _sentence(
        'image "{image}" stands for no environment on this machine; {there}. Add an Environment whose spec.images '
        "match it (kubectl create -f), or name one in the pod's annotation paddock.dev/environment"
    ),
    _sentence("environments here: "),
    _sentence("near ones: "),
)
_NAMED = _sentence("environment {name}: {what}")
"""Translated last, as {what} may be any other sentence."""

_PLACE = re.compile(r"\\\{(\w+)\\\}")


@cache
def _form(text: str) -> re.Pattern[str]:
    """The pattern of a sentence, with any text in its placeholders; a placeholder at its end matches the rest."""
    return re.compile(_PLACE.sub(r"(?P<\1>.*?)", re.escape(text)) + ("$" if text.endswith("}") else ""), re.DOTALL)


def translate_environments(message: str, language: str) -> str:
    """`message` with its known sentences in `language`; other text stays."""
    for text in _SENTENCES:
        message = _form(text).sub(partial(_fill, translate(text, language)), message)
    return re.sub(f"^{_form(_NAMED).pattern}", partial(_fill, translate(_NAMED, language)), message, flags=re.DOTALL)


def _fill(text: str, match: re.Match[str]) -> str:
    return text.format_map(match.groupdict())

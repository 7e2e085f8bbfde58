"""The address of a dataset: `spec.source.uri` as a value, or the problem with it. Pure.

https://host/x.tar                  one file, with http or https
s3://bucket/prefix                  what lies under a prefix; also of OSS, BOS, OBS (spec.source.endpoint)
git+https://host/x.git              a repository; also git+ssh, git+http and git+file
hf://datasets/NAME, hf://NAME       a dataset or a model of Hugging Face
modelscope://datasets/NAME          the same of ModelScope
file:///directory                   a directory of the machine; nothing is copied
claim://NAME                        a claim of the namespace; nothing is copied
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from urllib.parse import SplitResult, unquote, urlsplit

from paddock.kube.nearness import nearest
from paddock.words.phrases import Phrase, phrase


class Kind(StrEnum):
    HTTP = "http"
    S3 = "s3"
    GIT = "git"
    HUGGING_FACE = "huggingface"
    MODELSCOPE = "modelscope"
    DIRECTORY = "directory"
    CLAIM = "claim"


SCHEMES: Mapping[str, Kind] = MappingProxyType(
    {
        "http": Kind.HTTP,
        "https": Kind.HTTP,
        "s3": Kind.S3,
        "git+https": Kind.GIT,
        "git+http": Kind.GIT,
        "git+ssh": Kind.GIT,
        "git+file": Kind.GIT,
        "hf": Kind.HUGGING_FACE,
        "modelscope": Kind.MODELSCOPE,
        "file": Kind.DIRECTORY,
        "claim": Kind.CLAIM,
    }
)
_ENDPOINTS = MappingProxyType({
    "oss": "https://oss-cn-hangzhou.aliyuncs.com",
    "bos": "https://s3.bj.bcebos.com",
    "obs": "https://obs.cn-north-4.myhuaweicloud.com",
})  # fmt: skip
"""Clouds that people write as a scheme, and an endpoint of each that speaks S3, as an example."""

SECRET_KEYS: Mapping[Kind, tuple[str, ...]] = MappingProxyType(
    {
        Kind.HTTP: ("username", "password", "token"),
        Kind.S3: ("accessKeyID", "secretAccessKey", "sessionToken"),
        Kind.GIT: ("username", "password", "token", "ssh-privatekey", "known_hosts"),
        Kind.HUGGING_FACE: ("token",),
        Kind.MODELSCOPE: ("token",),
    }
)
"""The keys of a Secret (`spec.source.secretName`) that a source reads; others are ignored."""

COPIED = frozenset({Kind.HTTP, Kind.S3, Kind.GIT, Kind.HUGGING_FACE, Kind.MODELSCOPE})
"""Kinds whose files are fetched. Those of the others are where they are."""

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,62}")
_CLAIM = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_HOST = re.compile(r"\w[\w.-]*|[0-9A-Fa-f:.]+(%\w+)?")
"""A name, or an address as it stands in brackets. Nothing else is a host, and other programs read this one as well."""
_SURE_HOST = re.compile(r"[\w-]+(\.[\w-]+)+|localhost|\[[0-9A-Fa-f:.]+\]")
"""What stands before a "/", "?" or "#" of an http address and is taken for the host although an "@" follows, as in the
paths of package mirrors (`https://cdn.example.com/npm/words@1.2/x.csv`): a name and a password have a ":", and a token
has no dot."""
_WITHOUT_LOGIN = frozenset({"s3", "hf", "modelscope", "file", "claim", "git+file"})
"""Schemes whose addresses have no name and password, and may have an "@" behind the first part."""


class BadSource(ValueError):
    """`spec.source.uri` cannot be read, or another `field` of `spec.source` means nothing for it. The message is one
    sentence: what was found, and what is allowed."""

    def __init__(self, message: Phrase, field: str = "uri") -> None:
        super().__init__(str(message))
        self.field = field


@dataclass(frozen=True, slots=True)
class Source:
    """Where a Dataset is from."""

    kind: Kind
    uri: str
    place: str
    """What is addressed, by kind: the URL (http, git), the bucket (s3), the repository's name (hubs), the directory,
    the claim."""
    path: str = ""
    """The prefix (s3), the name of the file (http), "datasets" or "models" (hubs)."""

    @property
    def copied(self) -> bool:
        return self.kind in COPIED

    @property
    def shown(self) -> str:
        """The address without a user name and password, and without a query, which may sign it."""
        return hide(self.uri)


def hide(uri: str) -> str:
    """An address for messages: `https://host/x.tar`, without what may be secret in it: a name and a password, whatever
    characters they have, and a query. What stands before an "@" of a path is `…`."""
    scheme, rest = _split_scheme(uri)
    rest = re.split(r"[?#]", rest[_find_host(scheme, rest) :], maxsplit=1)[0]
    if not _is_plain(scheme, rest) and "@" in rest:
        rest = f"{rest.partition('/')[0]}/…{rest.rpartition('@')[2]}"
    return f"{scheme}://{rest}" if scheme else rest


def split_login(url: str) -> tuple[str, tuple[str, str] | None]:
    """The address without a name and a password, and both; None if it has none. `url`: of http or https, read."""
    scheme, rest = _split_scheme(url)
    end = _find_host(scheme, rest)
    name, _, password = rest[: max(0, end - 1)].partition(":")
    login = (unquote(name), unquote(password)) if name or password else None
    return f"{scheme}://{rest[end:]}", login


def find_password(uri: str) -> str:
    """What is secret of the name and the password in an address, as it is written there: a name alone is a token.
    Empty if there is none."""
    scheme, rest = _split_scheme(uri)
    name, _, password = rest[: max(0, _find_host(scheme, rest) - 1)].partition(":")
    return password or ("" if scheme.lower() == "git+ssh" else name)


def _split_scheme(uri: str) -> tuple[str, str]:
    """The scheme, empty if there is none, and what follows it."""
    scheme, separator, rest = uri.partition("://")
    return (scheme, rest) if separator and _SCHEME.fullmatch(scheme) else ("", uri)


def _find_host(scheme: str, rest: str) -> int:
    """Where the host begins: behind a name and a password, 0 if there are none. They end at the last "@", as a
    password that somebody has not encoded has any characters, and a token any length."""
    first = re.split(r"[/?#]", rest, maxsplit=1)[0]
    is_sure = scheme.lower() in ("http", "https") and _SURE_HOST.fullmatch(first)
    if is_sure or (_is_plain(scheme, rest) and not re.search("[@:]", first)):
        return 0
    return rest.rfind("@") + 1


def _is_plain(scheme: str, rest: str) -> bool:
    """Whether an "@" is a character as any other. `//ann:hush@host/x` is no path but an address without its scheme (RFC
    3986, 4.2)."""
    return scheme.lower() in _WITHOUT_LOGIN or (not scheme and rest.startswith("/") and not rest.startswith("//"))


@dataclass(frozen=True, slots=True)
class ShownSource:
    """An address as a page or a table may show it."""

    address: str
    """Without a password."""
    kind: str
    """`http`, `s3`, `git`, …; empty for an address that cannot be read."""
    copied: bool
    """False where the files stay where they are."""


def show_source(uri: str) -> ShownSource:
    """Never raises."""
    try:
        source = read_source(uri)
    except BadSource:
        return ShownSource(hide(uri), "", copied=True)
    return ShownSource(source.shown, source.kind.value, source.copied)


def read_source(uri: str) -> Source:
    """The source that an address names. Raises `BadSource`."""
    scheme, rest = _split_scheme(uri)
    scheme = scheme.lower()
    if not scheme:
        raise BadSource(_explain_no_scheme(uri))
    if scheme not in SCHEMES:
        raise BadSource(_explain_scheme(scheme, hide(uri).partition("://")[2]))
    if _CONTROL.search(uri):
        raise BadSource(
            phrase(
                'found "{uri}", with a space or a control character: write %20 for a space', uri=_printable(hide(uri))
            )
        )
    kind = SCHEMES[scheme]
    _check_login(uri, scheme, rest[: max(0, _find_host(scheme, rest) - 1)])
    place, path = _READERS[kind](uri, rest)
    return Source(kind, uri, place, path)


def _check_login(uri: str, scheme: str, login: str) -> None:
    if re.search(r"[/?#]", login):
        said = phrase(
            'found "{uri}" behind an "@" with "/", "?" or "#" before it, where a password may end: put a name and a '
            'password into a Secret (spec.source.secretName), and write %40 for an "@" of a path',
            uri=_printable(hide(uri)),
        )
        raise BadSource(said)
    if scheme == "git+ssh" and ":" in login:
        said = phrase(
            'found "{uri}" with a password, which ssh takes from no address: put ssh-privatekey into a Secret '
            "(spec.source.secretName)",
            uri=_printable(hide(uri)),
        )
        raise BadSource(said)


def _read_http(uri: str, rest: str) -> tuple[str, str]:
    parts = _split(uri)
    if not parts.hostname:
        raise BadSource(phrase('found "{uri}", which names no host: write https://HOST/FILE', uri=hide(uri)))
    name = unquote(parts.path).rpartition("/")[2]
    if not name or name in (".", ".."):
        said = phrase(
            'found "{uri}", which names no file: write the address of one file, as in https://HOST/DIRECTORY/FILE',
            uri=hide(uri),
        )
        raise BadSource(said)
    return uri, name


def _read_s3(uri: str, rest: str) -> tuple[str, str]:
    bucket, _, prefix = rest.partition("/")
    if not _BUCKET.fullmatch(bucket):
        shown = hide(uri).partition("://")[2].partition("/")[0]
        said = phrase(
            'found "{uri}", and "{bucket}" is no name of a bucket: write s3://BUCKET/PREFIX',
            uri=hide(uri), bucket=shown,
        )  # fmt: skip
        raise BadSource(said)
    return bucket, prefix


def _read_git(uri: str, rest: str) -> tuple[str, str]:
    url = uri.partition("+")[2]
    if url.lower().startswith("file:"):
        if not rest.startswith("/") or not rest.strip("/"):
            said = phrase('found "{uri}", which names no repository: write git+file:///DIRECTORY', uri=hide(uri))
            raise BadSource(said)
        return url, ""
    if not _split(url).hostname:
        said = phrase('found "{uri}", which names no repository: write git+https://HOST/REPOSITORY.git', uri=hide(uri))
        raise BadSource(said)
    return url, ""


def _read_hub(uri: str, rest: str) -> tuple[str, str]:
    name, kind = rest.strip("/"), "models"
    for each in ("datasets", "models"):
        if name.startswith(f"{each}/"):
            name, kind = name.removeprefix(f"{each}/"), each
    if not _HUB_NAME.fullmatch(name) or name in ("datasets", "models"):
        scheme = uri.partition("://")[0]
        said = phrase(
            'found "{uri}": write {scheme}://datasets/OWNER/NAME for a dataset, {scheme}://OWNER/NAME for a model; a '
            "revision is spec.source.revision (--revision)",
            uri=hide(uri), scheme=scheme,
        )  # fmt: skip
        raise BadSource(said)
    return name, kind


def _read_directory(uri: str, rest: str) -> tuple[str, str]:
    directory = unquote(rest)
    if not directory.startswith("/") or ".." in directory.split("/"):
        said = phrase(
            'found "{uri}": a directory has a whole path, without "..": write file:///data/words', uri=hide(uri)
        )
        raise BadSource(said)
    return "/" + directory.strip("/"), ""


def _read_claim(uri: str, rest: str) -> tuple[str, str]:
    if not _CLAIM.fullmatch(rest):
        said = phrase(
            'found "{uri}": write claim://NAME, the PersistentVolumeClaim of the same namespace', uri=hide(uri)
        )
        raise BadSource(said)
    return rest, ""


_READERS = {
    Kind.HTTP: _read_http,
    Kind.S3: _read_s3,
    Kind.GIT: _read_git,
    Kind.HUGGING_FACE: _read_hub,
    Kind.MODELSCOPE: _read_hub,
    Kind.DIRECTORY: _read_directory,
    Kind.CLAIM: _read_claim,
}


def _split(uri: str) -> SplitResult:
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        # The text of the error may have the name and the password.
        said = phrase('found "{uri}", which is no address: its host or its port cannot be one', uri=hide(uri))
        raise BadSource(said) from None
    if host and not _HOST.fullmatch(host):
        raise BadSource(phrase('found "{uri}", whose host has a character that no host has', uri=hide(uri)))
    return parts


def _explain_no_scheme(uri: str) -> Phrase:
    shown = hide(uri)
    if _is_plain("", uri):
        address = f"file://{shown}"
        return phrase('found "{uri}": a directory of this machine is {address}', uri=shown, address=address)
    if uri.startswith("git@") and ":" in shown and uri.count("@") == 1:
        address = f"git+ssh://git@{shown.replace(':', '/', 1)}"
        return phrase('found "{uri}": a repository by ssh is {address}', uri=f"git@{shown}", address=address)
    return phrase(
        'found "{uri}", which begins with no scheme: allowed: {schemes}', uri=_printable(shown), schemes=_ALLOWED
    )


def _explain_scheme(scheme: str, rest: str) -> Phrase:
    found, place = f"{_printable(scheme)}://", _printable(rest)
    if scheme in _ENDPOINTS:
        return phrase(
            'found "{scheme}": write {address} and the endpoint that speaks S3 (spec.source.endpoint, --endpoint), as '
            "{example}",
            scheme=found, address=f"s3://{place}", example=_ENDPOINTS[scheme],
        )  # fmt: skip
    if scheme in ("pvc", "persistentvolumeclaim"):
        return phrase('found "{scheme}": write claim://{name}', scheme=found, name=place)
    if scheme == "huggingface":
        return phrase('found "{scheme}": write hf://{name}', scheme=found, name=place)
    if scheme == "ms":
        return phrase('found "{scheme}": write modelscope://{name}', scheme=found, name=place)
    if scheme in ("git", "ssh"):
        return phrase(
            'found "{scheme}": write git+ssh://{name} or {address}',
            scheme=found, name=place, address=f"git+https://{place}",
        )  # fmt: skip
    if near := nearest(scheme, SCHEMES):
        return phrase(
            'found "{scheme}": did you mean "{meant}"? allowed: {schemes}',
            scheme=found, meant=f"{near}://", schemes=_ALLOWED,
        )  # fmt: skip
    return phrase('found "{scheme}": allowed: {schemes}', scheme=found, schemes=_ALLOWED)


def _printable(text: str) -> str:
    """At most 200 characters, each of which can be shown."""
    return "".join(each if each.isprintable() else "?" for each in text[:200])


_ALLOWED = "https://, s3://, git+https://, git+ssh://, hf://, modelscope://, file:///, claim://"

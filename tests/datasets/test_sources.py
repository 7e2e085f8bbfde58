"""Every address of a dataset, and what is said of every bad one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.cli.output.dataset_rows import show_source
from paddock.datasets.crd import build_crd
from paddock.datasets.definition import read_definition
from paddock.datasets.options import OPTIONS
from paddock.datasets.sources import (
    SCHEMES,
    BadSource,
    Kind,
    find_password,
    hide,
    read_source,
    split_login,
)
from paddock.datasets.states import Ready, build_status

GOOD = [
    ("https://host/a/x.tar", Kind.HTTP, "https://host/a/x.tar", "x.tar"),
    ("http://host:8080/my%20file.tar?sign=1", Kind.HTTP, "http://host:8080/my%20file.tar?sign=1", "my file.tar"),
    ("HTTPS://host/x", Kind.HTTP, "HTTPS://host/x", "x"),
    ("s3://words", Kind.S3, "words", ""),
    ("s3://words/", Kind.S3, "words", ""),
    ("s3://words/train/", Kind.S3, "words", "train/"),
    ("s3://my.words-1/a/b.tar", Kind.S3, "my.words-1", "a/b.tar"),
    ("git+https://host/x.git", Kind.GIT, "https://host/x.git", ""),
    ("https://cdn.host/npm/a@1/x", Kind.HTTP, "https://cdn.host/npm/a@1/x", "x"),
    ("https://host.cn/x?by=a@b", Kind.HTTP, "https://host.cn/x?by=a@b", "x"),
    ("git+ssh://git@host/x.git", Kind.GIT, "ssh://git@host/x.git", ""),
    ("git+file:///srv/x.git", Kind.GIT, "file:///srv/x.git", ""),
    ("hf://datasets/ann/words", Kind.HUGGING_FACE, "ann/words", "datasets"),
    ("hf://ann/bert", Kind.HUGGING_FACE, "ann/bert", "models"),
    ("hf://models/ann/bert", Kind.HUGGING_FACE, "ann/bert", "models"),
    ("hf://gpt2", Kind.HUGGING_FACE, "gpt2", "models"),
    ("modelscope://datasets/ann/words/", Kind.MODELSCOPE, "ann/words", "datasets"),
    ("file:///data/words/", Kind.DIRECTORY, "/data/words", ""),
    ("file:///data/my%20words", Kind.DIRECTORY, "/data/my words", ""),
    ("claim://words", Kind.CLAIM, "words", ""),
    ("https://ann:hu%2Fsh@host/x", Kind.HTTP, "https://ann:hu%2Fsh@host/x", "x"),
    ("https://host/%40scope/x.tgz", Kind.HTTP, "https://host/%40scope/x.tgz", "x.tgz"),
    ("https://[::1]:8443/x", Kind.HTTP, "https://[::1]:8443/x", "x"),
    ("https://例子.example/x", Kind.HTTP, "https://例子.example/x", "x"),
    ("git+https://[::1]:8443/x.git", Kind.GIT, "https://[::1]:8443/x.git", ""),
    ("s3://words/ann@host/x", Kind.S3, "words", "ann@host/x"),
    ("file:///data/@eaDir", Kind.DIRECTORY, "/data/@eaDir", ""),
    ("git+file:///srv/a@b.git", Kind.GIT, "file:///srv/a@b.git", ""),
]

BAD = [
    ("", 'found "", which begins with no scheme: allowed: https://'),
    ("words.tar", 'found "words.tar", which begins with no scheme: allowed: https://'),
    ("/data/words", 'found "/data/words": a directory of this machine is file:///data/words'),
    ("/data/a@b", 'found "/data/a@b": a directory of this machine is file:///data/a@b'),
    ("//host/words", 'found "//host/words", which begins with no scheme: allowed: https://'),
    ("//ann:hush@host/words", 'found "host/words", which begins with no scheme: allowed: https://'),
    ("git@host:ann/x.git", 'found "git@host:ann/x.git": a repository by ssh is git+ssh://git@host/ann/x.git'),
    ("ftp://host/x", 'found "ftp://": allowed: https://'),
    (
        "oss://words/x",
        "write s3://words/x and the endpoint that speaks S3 (spec.source.endpoint, --endpoint), as https",
    ),
    ("bos://words/x", "https://s3.bj.bcebos.com"),
    ("obs://words/x", "myhuaweicloud.com"),
    ("pvc://words", "write claim://words"),
    ("huggingface://ann/x", "write hf://ann/x"),
    ("ms://ann/x", "write modelscope://ann/x"),
    ("git://host/x.git", "write git+ssh://host/x.git or git+https://host/x.git"),
    ("https://", "which names no host"),
    ("https://host", "which names no file: write the address of one file"),
    ("https://host/directory/", "which names no file"),
    ("https://host/a/..", "which names no file"),
    ("https://host:port/x", "which is no address"),
    ("https://host/a b", "with a space or a control character: write %20"),
    ("https://host/a\nb", "with a space or a control character"),
    ("s3://", '"" is no name of a bucket: write s3://BUCKET/PREFIX'),
    ("s3://Words/x", '"Words" is no name of a bucket'),
    ("git+https://", "which names no repository"),
    ("hf://datasets/", "write hf://datasets/OWNER/NAME"),
    ("hf://datasets/a/b/c", "write hf://datasets/OWNER/NAME"),
    ("hf://ann/x@main", "a revision is spec.source.revision (--revision)"),
    ("modelscope://a//b", "write modelscope://datasets/OWNER/NAME"),
    ("file://data", 'a directory has a whole path, without "..": write file:///data/words'),
    ("file:///data/../etc", 'without ".."'),
    ("claim://Words", "write claim://NAME, the PersistentVolumeClaim of the same namespace"),
    ("claim://words/x", "write claim://NAME"),
    ("https://host/@scope/x.tgz", 'found "https://scope/x.tgz" behind an "@" with "/", "?" or "#" before it'),
    ("https://host.cn:80/@scope/x", 'found "https://scope/x" behind an "@"'),
    ("git+https://host.cn/a@b/x.git", 'found "git+https://b/x.git" behind an "@"'),
    ("https://host/x?to=ann@host", 'and write %40 for an "@" of a path'),
    ("https://host/" + "a" * 300 + "?to=ann@host/x", 'found "https://host/x" behind an "@"'),
    ("https://" + "t" * 310 + "/rest@host/x.tar", 'found "https://host/x.tar" behind an "@"'),
    ("git+https://" + "t" * 310 + "/rest@host/x.git", 'found "git+https://host/x.git" behind an "@"'),
    ("git+https://ann:" + "t" * 310 + "/rest@host/x.git", 'found "git+https://host/x.git" behind an "@"'),
    ("git+ssh://ann:hush@host/x.git", 'found "git+ssh://host/x.git" with a password, which ssh takes from no address'),
    ("git+file://host/x.git", "write git+file:///DIRECTORY"),
    ("git+https://host:port/x.git", "its host or its port cannot be one"),
    ("git+https://a.helper=!touch/x.git", "whose host has a character that no host has"),
    ("https://a;b/x", "whose host has a character that no host has"),
    ("https://-x/y", "whose host has a character that no host has"),
]


@pytest.mark.parametrize(("uri", "kind", "place", "path"), GOOD, ids=[each[0] for each in GOOD])
def test_an_address_is_read(uri: str, kind: Kind, place: str, path: str) -> None:
    source = read_source(uri)
    assert (source.kind, source.place, source.path) == (kind, place, path)
    assert source.copied == (kind not in (Kind.DIRECTORY, Kind.CLAIM))


def test_each_scheme_has_an_example() -> None:
    assert set(SCHEMES) - {uri.partition("://")[0] for uri, *_ in GOOD} == {"git+http"}


@pytest.mark.parametrize(("uri", "words"), BAD, ids=[each[0] for each in BAD])
def test_a_bad_address_is_told(uri: str, words: str) -> None:
    with pytest.raises(BadSource) as problem:
        read_source(uri)
    assert words in str(problem.value)
    assert str(problem.value).isprintable()


@given(
    st.text(max_size=30)
    | st.sampled_from(list(SCHEMES)).flatmap(lambda each: st.text(max_size=20).map(f"{each}://".__add__))
)
def test_any_text_is_a_source_or_a_sentence(uri: str) -> None:
    try:
        source = read_source(uri)
    except BadSource as problem:
        assert str(problem)
    else:
        assert source.place


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("https://ann:hush@host/x.tar?signature=hush#hush", "https://host/x.tar"),
        ("https://ann@host/x", "https://host/x"),
        ("git+ssh://git@host/x.git", "git+ssh://host/x.git"),
        ("s3://words/train", "s3://words/train"),
        ("https://host?sign=hush", "https://host"),
        ("words", "words"),
        ("https://ann:hu/sh@host/x", "https://host/x"),
        ("https://ann:hu?sh@host/x", "https://host/x"),
        ("https://ann:hu#sh@host/x", "https://host/x"),
        ("https://ann:hu@sh@host/x", "https://host/x"),
        ("https://ann:" + "h" * 400 + "@host/x", "https://host/x"),
        ("https://" + "h" * 310 + "/sh@host/x", "https://host/x"),
        ("git+https://ann:hush@host/" + "x" * 300 + "/a@b", "git+https://b"),
        ("https://host.cn/npm/a@1/x?b", "https://host.cn/…1/x"),
        ("https://host.cn/x?by=a@b", "https://host.cn/x"),
        ("https://[::1]/x@y", "https://[::1]/…y"),
        ("https://ann:1.2/sh@host/x", "https://host/x"),
        ("git+https://ann:hu/sh@host/x.git", "git+https://host/x.git"),
        ("ann:hush@host/x", "host/x"),
        ("claim://ann:hush@words", "claim://words"),
        ("file://ann:hu/sh@/x", "file:///x"),
        ("file:///data/a@b", "file:///data/a@b"),
        ("s3://words/a@b", "s3://words/a@b"),
        ("/data/a@b", "/data/a@b"),
        ("//ann:hush@host/x", "host/x"),
    ],
)
def test_nothing_secret_is_shown(uri: str, shown: str) -> None:
    assert hide(uri) == shown


@pytest.mark.parametrize(
    "uri",
    [
        "https://ann:hush@host/",
        "https://ann:hush@host:port/x",
        "https://ann:hush@/x",
        "https://ann:hush@h/a b",
        "s3://ann:hush@words/x",
        "oss://ann:hush@words/x",
        "git://ann:hush@host/x.git",
        "hf://ann:hush@host/a/b/c",
        "ms://ann:hush@host/x",
        "https://ann:hu/hush@host/x",
        "https://ann:[hush@host/x",
        "https://ann:hush＠x@host/x",
        "git+https://ann:hu/hush@host/x.git",
        "git+https://ann:[hush@host/x.git",
        "git+ssh://ann:hush@host/x.git",
        "git+file://ann:hush@/srv/x.git",
        "file://ann:hush@/x",
        "claim://ann:hush@words",
        "ann:hush@host/x",
        "//ann:hush@host/x",
        "//ann:hu/hush@host/x",
        "///ann:hush@host/x",
        "/x?signature=hush",
        "git@host:x?signature=hush",
        "git@ann:hush@host/x",
        "ann:hush://x@host/x",
    ],
)
def test_no_problem_shows_what_is_secret(uri: str) -> None:
    with pytest.raises(BadSource) as problem:
        read_source(uri)
    assert "hush" not in str(problem.value)


MARK = "Zq7x"
"""In each password, so that a part of it is noticed as well."""
_any = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_passwords = st.builds(lambda before, after: before + MARK + after, _any, _any)
_schemes = st.sampled_from([*SCHEMES, "HTTPS", "oss", "git", "ssh", "ftp", "ms", "pvc", "odd+one", "x y", ""])


@given(
    _schemes,
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/?#"), min_size=1, max_size=9),
    _passwords,
)
def test_no_password_is_in_what_is_said_of_an_address(scheme: str, name: str, password: str) -> None:
    """In no problem, no row, no status; and no address of a command line has it."""
    uri = f"{scheme}://{name}:{password}@host.example/x.tar" if scheme else f"{name}:{password}@host.example/x.tar"
    manifest = {"metadata": {"name": "words"}, "spec": {"source": {"uri": uri}}}
    said = [hide(uri), show_source(manifest)]
    try:
        definition = read_definition(manifest)
    except BadSource as problem:
        said.append(str(problem))
    else:
        said += [definition.source.shown, str(build_status(definition, Ready(size=1, files=1)))]
        if definition.source.kind in (Kind.HTTP, Kind.GIT):
            url, login = split_login(definition.source.place)
            said.append(url)
            assert login is not None and MARK in find_password(uri)
    assert not [each for each in said if MARK in each]


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9), _passwords)
def test_a_password_is_hidden_behind_a_name_of_any_characters(name: str, password: str) -> None:
    for each in ("https", "git+https", "ftp"):
        uri = f"{each}://{name}:{password}@host.example/x.tar"
        assert MARK not in hide(uri) and hide(uri).endswith("host.example/x.tar")
        try:
            read_source(uri)
        except BadSource as problem:
            assert MARK not in str(problem)


def test_an_endpoint_with_a_password_is_refused() -> None:
    source = {"uri": "s3://words/x", "endpoint": "https://ann:hush@minio.example"}
    with pytest.raises(BadSource) as problem:
        read_definition({"metadata": {"name": "words"}, "spec": {"source": source}})
    assert problem.value.field == "endpoint" and "hush" not in str(problem.value)


@pytest.mark.parametrize(
    ("url", "bare", "login"),
    [
        ("https://host/x?", "https://host/x?", None),
        ("https://ann:hush@host/x?a=b%20c#", "https://host/x?a=b%20c#", ("ann", "hush")),
        ("https://a%3An:h%2F%40@host:8443/x", "https://host:8443/x", ("a:n", "h/@")),
        ("https://token@[::1]/x", "https://[::1]/x", ("token", "")),
        ("https://@host/x", "https://host/x", None),
        ("HTTP://:hush@host/x", "HTTP://host/x", ("", "hush")),
    ],
)
def test_a_login_is_taken_from_an_address_which_stays_as_it_was(
    url: str, bare: str, login: tuple[str, str] | None
) -> None:
    assert split_login(url) == (bare, login)


@pytest.mark.parametrize(
    ("uri", "field", "value"),
    [
        ("s3://words/x", "sha256", "0" * 64),
        ("git+https://host/x.git", "sha256", "0" * 64),
        ("https://host/x", "revision", "v1"),
        ("https://host/x", "include", ["*.txt"]),
        ("git+https://host/x.git", "exclude", ["*.txt"]),
        ("hf://ann/bert", "region", "cn"),
        ("file:///data", "secretName", "keys"),
    ],
)
def test_a_field_of_a_manifest_that_means_nothing_for_its_address_is_refused(
    uri: str, field: str, value: object
) -> None:
    with pytest.raises(BadSource) as problem:
        read_definition({"metadata": {"name": "words"}, "spec": {"source": {"uri": uri, field: value}}})
    assert problem.value.field == field
    assert str(problem.value).startswith(f"{field} means nothing for {uri}: it is for ")


def test_each_other_field_of_the_schema_is_known_to_the_check_of_what_fits() -> None:
    fields = build_crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert set(fields["source"]["properties"]) - {"uri"} == {each.key for each in OPTIONS.values() if each.is_of_source}

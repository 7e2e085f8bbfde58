"""Every address of a dataset, and what is said of every bad one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.datasets.crd import build_crd
from paddock.datasets.definition import read_definition
from paddock.datasets.sources import OPTIONS, SCHEMES, BadSource, Kind, hide, read_source

GOOD = [
    ("https://host/a/x.tar", Kind.HTTP, "https://host/a/x.tar", "x.tar"),
    ("http://host:8080/my%20file.tar?sign=1", Kind.HTTP, "http://host:8080/my%20file.tar?sign=1", "my file.tar"),
    ("HTTPS://host/x", Kind.HTTP, "HTTPS://host/x", "x"),
    ("s3://words", Kind.S3, "words", ""),
    ("s3://words/", Kind.S3, "words", ""),
    ("s3://words/train/", Kind.S3, "words", "train/"),
    ("s3://my.words-1/a/b.tar", Kind.S3, "my.words-1", "a/b.tar"),
    ("git+https://host/x.git", Kind.GIT, "https://host/x.git", ""),
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
]

BAD = [
    ("", 'found "", which begins with no scheme: allowed: https://'),
    ("words.tar", 'found "words.tar", which begins with no scheme: allowed: https://'),
    ("/data/words", 'found "/data/words": a directory of this machine is file:///data/words'),
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
    ],
)
def test_no_problem_shows_what_is_secret(uri: str) -> None:
    with pytest.raises(BadSource) as problem:
        read_source(uri)
    assert "hush" not in str(problem.value)


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
    assert set(fields["source"]["properties"]) - {"uri"} == set(OPTIONS)

"""Names of images, as Docker reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.images.references import Reference, Repository, is_loopback, read_reference, read_target
from paddock.words.phrases import Phrase

DIGEST = f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("text", "host", "name", "tag", "digest"),
    [
        ("busybox", "docker.io", "library/busybox", "", ""),
        ("busybox:1", "docker.io", "library/busybox", "1", ""),
        ("paddlepaddle/paddle:3.0.0", "docker.io", "paddlepaddle/paddle", "3.0.0", ""),
        ("docker.io/busybox", "docker.io", "library/busybox", "", ""),
        ("index.docker.io/a/b", "docker.io", "a/b", "", ""),
        ("localhost/x", "localhost", "x", "", ""),
        ("localhost:5000/x:v1", "localhost:5000", "x", "v1", ""),
        ("registry.example.com/a/b/c", "registry.example.com", "a/b/c", "", ""),
        ("[::1]:5000/x", "[::1]:5000", "x", "", ""),
        ("Team/x", "Team", "x", "", ""),  # as Docker: capital letters make a host
        (f"ghcr.io/a/b@{DIGEST}", "ghcr.io", "a/b", "", DIGEST),
        (f"ghcr.io/a/b:v1@{DIGEST}", "ghcr.io", "a/b", "v1", DIGEST),
    ],
)
def test_the_parts_of_a_name_are_read(text: str, host: str, name: str, tag: str, digest: str) -> None:
    assert read_reference(text) == Reference(Repository(host, name), tag, digest)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is no name of an image"),
        ("ghcr.io/Team/x", "names of images have no capital letters: did you mean team/x?"),
        ("ghcr.io/a b", "a name has small letters and digits"),
        ("ghcr.io/a:", "behind : a tag is wanted"),
        ("ghcr.io/a:b c", "a tag has letters, digits"),
        ("ghcr.io/a@sha256:1", "behind @ a digest is wanted"),
        (f"ghcr.io/a@md5:{'a' * 32}", "behind @ a digest is wanted"),
        (f"ghcr.io/{'a' * 256}", "a name has small letters"),
        ("ghcr.io/../x", "a name has small letters"),
        ("ghcr.io:port/x", "ghcr.io:port is no address of a registry"),
    ],
)
def test_what_is_no_name_is_told_with_the_reason(text: str, said: str) -> None:
    read = read_reference(text)
    assert isinstance(read, Phrase) and said in str(read)


@given(st.text(alphabet=st.sampled_from("aZ09./:@-_[]% ?#\\\n"), max_size=40))
def test_a_name_that_is_taken_is_no_path_to_elsewhere(text: str) -> None:
    """It becomes a part of addresses."""
    read = read_reference(text)
    if isinstance(read, Reference):
        assert not set("?#% \\\n") & set(f"{read.repository}{read.tag}")
        assert ".." not in read.repository.name.split("/")


@pytest.mark.parametrize(
    ("text", "scheme", "host", "tag"),
    [
        ("registry.example.com/team/x", "", "registry.example.com", ""),
        ("registry.example.com/team/x:v1", "", "registry.example.com", "v1"),
        ("http://10.0.0.1:5000/x", "http", "10.0.0.1:5000", ""),
        ("https://localhost:5000/x", "https", "localhost:5000", ""),
        ("me/x", "", "docker.io", ""),
    ],
)
def test_the_value_of_push_is_a_repository(text: str, scheme: str, host: str, tag: str) -> None:
    read = read_target(text)
    assert isinstance(read, Reference)
    assert (read.repository.scheme, read.repository.host, read.tag) == (scheme, host, tag)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mnist", "a registry and a name in it are wanted, as in registry.example.com/team/mnist"),
        ("10.0.0.1:5000", "a registry and a name in it are wanted, as in 10.0.0.1:5000/team/mnist"),
        ("mnist:v1.0", "a registry and a name in it are wanted, as in registry.example.com/team/mnist:v1.0"),
        ("docker.io/mnist", "a registry and a name in it are wanted, as in docker.io/team/mnist"),
        ("http://localhost:5000", "a registry and a name in it are wanted, as in http://localhost:5000/team/mnist"),
        ("ftp://x.y/z", "https:// or http://"),
        (f"x.y/z@{DIGEST}", f"leave @{DIGEST} out"),
        ("x.y/Z", "--push: x.y/Z is no name of an image"),
    ],
)
def test_another_value_of_push_is_refused(text: str, said: str) -> None:
    read = read_target(text)
    assert isinstance(read, Phrase) and said in str(read)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True), ("localhost:5000", True), ("127.0.0.1:5000", True), ("127.9.9.9", True),
        ("[::1]:5000", True), ("10.0.0.1:5000", False), ("localhost.example.com", False), ("docker.io", False),
    ],
)  # fmt: skip
def test_plain_http_is_for_registries_of_this_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected

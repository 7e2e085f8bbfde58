"""How peers are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.doctor.host.endpoints import (
    Endpoint,
    WrongPeer,
    read_endpoint,
    read_hosts_file,
    read_variables,
    unique,
)


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("gpu-b", Endpoint("gpu-b")),
        (" 10.0.0.2:6170 ", Endpoint("10.0.0.2", 6170)),
        ("fd00::2", Endpoint("fd00::2")),
        ("[fd00::2]:6170", Endpoint("fd00::2", 6170)),
        ("http://gpu-b:9100", Endpoint("gpu-b", 9100, is_http=True)),
        ("http://gpu-b/metrics", Endpoint("gpu-b", 80, is_http=True)),
        ("job-ps-0.default.svc", Endpoint("job-ps-0.default.svc")),
        ("my_host", Endpoint("my_host")),
    ],
)
def test_a_peer(text: str, endpoint: Endpoint) -> None:
    assert read_endpoint(text) == endpoint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no machine"),
        ("gpu b", "names no machine"),
        ("gpu-b:", "ends with a colon"),
        ("gpu-b:http", "'http' is no port"),
        ("gpu-b:70000", "'70000' is no port"),
        ("gpu-b:²", "is no port"),
        (":6170", "names no machine"),
        ("-x", "names no machine"),
        ("$(id)", "names no machine"),
        ("https://gpu-b", "not by https://"),
        ("etcd://gpu-b:2379", "not by etcd://"),
    ],
)
def test_what_is_no_peer_is_told(text: str, words: str) -> None:
    with pytest.raises(WrongPeer, match=words.replace("(", r"\(")):
        read_endpoint(text)


@given(st.text(max_size=40))
def test_any_text_is_a_peer_or_a_sentence(text: str) -> None:
    try:
        endpoint = read_endpoint(text)
    except WrongPeer as error:
        assert str(error)
    else:
        assert not set(endpoint.host) & set(" ;|&$'\"\\\n")


def test_a_file_of_hosts_is_read_as_mpi_and_deepspeed_write_it() -> None:
    text = "# the machines\ngpu-a slots=8\n\n10.0.0.2:6170\t# rank 1\n"
    assert list(read_hosts_file(text)) == ["gpu-a", "10.0.0.2:6170"]


def test_the_variables_of_frameworks_name_peers() -> None:
    environ = {
        "PADDLE_TRAINER_ENDPOINTS": "10.0.0.1:6170,10.0.0.2:6170",
        "PADDLE_MASTER": "etcd://10.0.0.3:2379",
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "29500",
    }
    found = read_variables(environ)
    assert [str(each) for each in found] == ["10.0.0.1:6170", "10.0.0.2:6170", "10.0.0.3:2379", "10.0.0.1:29500"]
    assert found[2].variable == "PADDLE_MASTER" and not any(each.is_http for each in found)
    assert [str(each) for each in read_variables({"MASTER_ADDR": "gpu-a"})] == ["gpu-a"]
    assert read_variables({"PADDLE_MASTER": "x y", "MASTER_ADDR": ""}) == ()


def test_each_place_is_asked_once() -> None:
    endpoints = [Endpoint("a", 1), Endpoint("b"), Endpoint("a", 1, variable="PADDLE_MASTER")]
    assert unique(endpoints) == (Endpoint("a", 1), Endpoint("b"))

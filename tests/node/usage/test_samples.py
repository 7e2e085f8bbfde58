"""The record of usage: bounded, whole after a crash, and without losing its highest memory."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from paddock.node.usage.records import UsageRecord, read_last_samples, read_usage_file, usage_file
from paddock.node.usage.samples import LARGEST, MOST, Sample, decode, encode, encode_head, halve, is_whole, merge


def make(at: float, cpu: float = 1.0, memory: float = 1024.0, **gpus: float) -> Sample:
    return Sample(at, cpu, memory, **gpus)


def test_what_is_written_is_read() -> None:
    samples = [make(1.5, 0.25, 2048.0, gpu=50.0, gpu_memory=4096.0), make(2.5)]
    stride, read = decode(encode_head(4) + b"".join(map(encode, samples)))
    assert stride == 4
    assert read[0] == samples[0]
    assert (read[1].at, read[1].cpu, read[1].memory) == (2.5, 1.0, 1024.0) and math.isnan(read[1].gpu)


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        (b"", False),
        (b"something else that a program has put here", False),
        (encode_head(1), True),
        (encode_head(1) + encode(make(1.0))[:10], False),
        (encode_head(0), True),
    ],
)
def test_what_is_no_record_is_read_as_empty(data: bytes, whole: bool) -> None:
    assert decode(data)[1] == []
    assert is_whole(data) is whole


def test_two_samples_become_one_with_the_most_memory() -> None:
    merged = merge([make(1.0, 2.0, 5.0, gpu=10.0, gpu_memory=7.0), make(2.0, 4.0, 3.0, gpu=30.0, gpu_memory=1.0)])
    assert merged == Sample(2.0, 3.0, 5.0, 20.0, 7.0)
    assert len(halve([make(float(at)) for at in range(5)])) == 3
    assert math.isnan(merge([make(1.0), make(2.0)]).gpu)


def test_the_last_samples_are_read_of_a_record_of_any_length(tmp_path: Path) -> None:
    path = tmp_path / "0.usage"
    assert read_last_samples(path, 3) == []
    record = UsageRecord(path)
    for at in range(10):
        record.add(make(float(at)))
        assert [each.at for each in read_last_samples(path, 3)] == [float(each) for each in range(at + 1)][-3:]
    with path.open("ab") as file:
        file.write(b"half a")
    assert [each.at for each in read_last_samples(path, 3)] == [7.0, 8.0, 9.0]


def test_a_record_keeps_its_size_and_its_highest_memory(tmp_path: Path) -> None:
    record = UsageRecord(usage_file(tmp_path / "0.log"))
    for at in range(3 * MOST):
        record.add(make(float(at), memory=1e9 if at == 17 else 1.0))
    found = read_usage_file(tmp_path / "0.usage")
    assert MOST / 2 <= len(found) < MOST
    assert (tmp_path / "0.usage").stat().st_size <= LARGEST
    assert (tmp_path / "0.usage").stat().st_mode & 0o777 == 0o600
    assert max(each.memory for each in found) == 1e9
    times = [each.at for each in found]
    assert times == sorted(times) and times[0] <= 4 and times[-1] >= 3 * MOST - 4


def test_a_later_daemon_goes_on_and_drops_half_a_sample(tmp_path: Path) -> None:
    path = tmp_path / "0.usage"
    UsageRecord(path).add(make(1.0))
    with path.open("ab") as file:
        file.write(encode(make(2.0))[:5])
    UsageRecord(path).add(make(3.0))
    assert [each.at for each in read_usage_file(path)] == [1.0, 3.0]


def test_a_link_in_the_place_of_a_record_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret")
    (tmp_path / "0.usage").symlink_to(tmp_path / "key")
    assert read_usage_file(tmp_path / "0.usage") == []
    with pytest.raises(OSError):
        UsageRecord(tmp_path / "0.usage").add(make(1.0))
    assert (tmp_path / "key").read_text() == "secret"

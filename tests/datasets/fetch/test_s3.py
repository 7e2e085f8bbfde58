"""What lies under a prefix of a bucket: moto's S3, through a wire that cuts where a test wants it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from datasets.fetch.buckets import KEYS, Bucket, Wire, open_wire
from datasets.fetch.calls import must_fail, must_fetch, read_tree
from datasets.fetch.web import build_bytes
from paddock.datasets.fetch.buckets import build_address, find_region
from paddock.datasets.fetching import Fault, Progress, Report, Request

LARGE = build_bytes(3 << 20)


def build(bucket: Bucket, tmp_path: Path, uri: str = "s3://words/train/", **options: object) -> Request:
    usual = {"endpoint": bucket.endpoint, "secret": KEYS, "target": str(tmp_path / "t")}
    return Request(uri=uri, **{**usual, **options})


@pytest.mark.parametrize("uri", ["s3://words/train", "s3://words/train/"])
async def test_all_under_a_prefix_comes(bucket: Bucket, tmp_path: Path, uri: str) -> None:
    bucket.put_all(
        {
            "train/large": LARGE,
            "train/a": b"a",
            "train/deep/er/b": b"b",
            "train/empty": b"",
            "trainer": b"no",
            "x/a": b"",
        }
    )
    said: list[Report] = []
    end = await must_fetch(build(bucket, tmp_path, uri), said)
    assert read_tree(tmp_path / "t") == {"large": LARGE, "a": b"a", "deep/er/b": b"b", "empty": b""}
    assert (end.size, end.files, end.fetched) == (len(LARGE) + 2, 4, len(LARGE) + 2)
    last = [each for each in said if isinstance(each, Progress)][-1]
    assert (last.total, last.all_files) == (end.size, 4)


async def test_a_whole_bucket_comes(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_all({"a": b"a", "b/c": b"c"})
    await must_fetch(build(bucket, tmp_path, "s3://words"))
    assert read_tree(tmp_path / "t") == {"a": b"a", "b/c": b"c"}


async def test_a_prefix_that_is_one_object_is_that_file(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_all({"train/large": LARGE, "train/large/not": b"", "train/larger": b""})
    await must_fetch(build(bucket, tmp_path, "s3://words/train/large"))
    assert read_tree(tmp_path / "t") == {"large": LARGE}


async def test_keys_are_names_as_they_are(bucket: Bucket, tmp_path: Path) -> None:
    keys = ["ü 好.txt", "100%.txt", "a#b?c~d", "x+y&z=1", "%2e%2e", "..a", "a..", "'q'", "-rf"]
    bucket.put_all({f"my data/{key}": key.encode() for key in keys})
    await must_fetch(build(bucket, tmp_path, "s3://words/my%20data"))
    assert read_tree(tmp_path / "t") == {key: key.encode() for key in keys}


async def test_signs_of_folders_are_no_files(bucket: Bucket, tmp_path: Path) -> None:
    """Consoles put an empty object `deep/` to show a folder; moto lists it, obstore without its "/"."""
    bucket.put_all({"train/": b"", "train/deep/": b"", "train/deep/a": b"a", "train/none/": b""})
    end = await must_fetch(build(bucket, tmp_path))
    assert read_tree(tmp_path / "t") == {"deep/a": b"a"}
    assert end.files == 1


@pytest.mark.parametrize(
    "key",
    [
        "train/../../etc/x",
        pytest.param("train/a/../b", marks=pytest.mark.slow),
        pytest.param("train//x", marks=pytest.mark.slow),
        pytest.param("train/./x", marks=pytest.mark.slow),
    ],
)
async def test_a_key_that_leads_out_is_refused_by_its_name(bucket: Bucket, tmp_path: Path, key: str) -> None:
    bucket.put_all({"train/a": b"a", key: b"x"})
    end = await must_fail(build(bucket, tmp_path))
    assert end.fault == Fault.SOURCE
    assert f'"{key}"' in end.message and "cannot be a file" in end.message
    assert read_tree(tmp_path / "t") == {}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (["train/a", "train/a-b", "train/a/b"], 'a file "a" and a file "a/b"'),
        pytest.param(["train/.paddock/files"], "Paddock's own directory", marks=pytest.mark.slow),
        pytest.param(["train/" + "x" * 300], "300 bytes, and 255 are allowed", marks=pytest.mark.slow),
    ],
)
async def test_names_that_no_disk_takes_are_refused(
    bucket: Bucket, tmp_path: Path, keys: list[str], words: str
) -> None:
    bucket.put_all(dict.fromkeys(keys, b"x"))
    end = await must_fail(build(bucket, tmp_path))
    assert words in end.message
    assert read_tree(tmp_path / "t") == {}


async def test_a_name_that_is_left_out_is_not_refused(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_all({"train/a": b"a", "train/" + "x" * 300: b"x"})
    await must_fetch(build(bucket, tmp_path, exclude=("xx*",)))
    assert read_tree(tmp_path / "t") == {"a": b"a"}


async def test_patterns_choose(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_all({f"train/{each}": b"x" for each in ("a.parquet", "b/c.parquet", "b/d.txt", "raw/e.parquet")})
    await must_fetch(build(bucket, tmp_path, include=("*.parquet",), exclude=("raw/",)))
    assert sorted(read_tree(tmp_path / "t")) == ["a.parquet", "b/c.parquet"]


async def test_cuts_are_gone_on_from(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_all({"train/large": LARGE})
    async with open_wire(Wire(bucket.endpoint, cuts=[1 << 20, 1 << 20])) as wire:
        said: list[Report] = []
        await must_fetch(build(bucket, tmp_path, endpoint=wire.url), said)
        assert wire.sent < len(LARGE) + (1 << 20)
    assert read_tree(tmp_path / "t") == {"large": LARGE}
    assert any(isinstance(each, Progress) and each.phase == "retrying" for each in said)


async def test_an_object_in_pieces_has_no_checksum_and_comes(bucket: Bucket, tmp_path: Path) -> None:
    data = build_bytes(6 << 20)
    bucket.put_in_pieces("train/large", data)
    await must_fetch(build(bucket, tmp_path))
    assert read_tree(tmp_path / "t") == {"large": data}


async def test_an_object_that_changes_between_listing_and_fetching_comes_as_it_is_now(
    bucket: Bucket, tmp_path: Path
) -> None:
    bucket.put_all({"train/large": LARGE, "train/small": b"one"})

    class Changes(list):
        """Listens to the reports, and changes the objects when the listing is done."""

        def append(self, report: Report) -> None:
            if isinstance(report, Progress) and report.phase == "fetching" and not self:
                bucket.put_all({"train/large": LARGE[::-1], "train/small": b"two!"})
                super().append(report)

    end = await must_fetch(build(bucket, tmp_path), Changes())
    assert read_tree(tmp_path / "t") == {"large": LARGE[::-1], "small": b"two!"}
    assert end.size == len(LARGE) + 4


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("s3://words/nothing", "s3://words/nothing at ENDPOINT has no objects: correct spec.source.uri"),
        pytest.param(
            "s3://nobodys/train",
            "there is no bucket nobodys at ENDPOINT: correct spec.source.uri",
            marks=pytest.mark.slow,
        ),
    ],
)
async def test_what_is_not_there_is_told(bucket: Bucket, tmp_path: Path, uri: str, words: str) -> None:
    bucket.put_all({"train/a": b"a"})
    end = await must_fail(build(bucket, tmp_path, uri))
    assert end.fault == Fault.SOURCE
    assert words.replace("ENDPOINT", bucket.endpoint) in end.message


async def test_patterns_that_leave_nothing_are_told(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_all({"train/a": b"a"})
    end = await must_fail(build(bucket, tmp_path, include=("*.tar",)))
    assert "has 1 objects, and spec.source.include and exclude leave none of them" in end.message


async def test_a_server_that_does_not_answer_is_the_networks_fault(bucket: Bucket, tmp_path: Path) -> None:
    end = await must_fail(build(bucket, tmp_path, endpoint="http://127.0.0.1:9"))
    assert end.fault == Fault.NETWORK
    assert "s3://words/train/ at http://127.0.0.1:9 cannot be reached; tried 4 times" in end.message


class TestAgain:
    async def test_what_is_there_is_not_fetched_again(self, bucket: Bucket, tmp_path: Path) -> None:
        bucket.put_all({"train/large": LARGE, "train/a": b"a", "train/b": b"b"})
        await must_fetch(build(bucket, tmp_path))
        bucket.put_all({"train/a": b"A", "train/c": b"c"})
        bucket.client.delete_object(Bucket="words", Key="train/b")
        end = await must_fetch(build(bucket, tmp_path, round=1))
        assert (end.fetched, end.files, end.size) == (2, 3, len(LARGE) + 2)
        assert read_tree(tmp_path / "t") == {"large": LARGE, "a": b"A", "c": b"c"}

    async def test_another_prefix_leaves_nothing_of_the_first(self, bucket: Bucket, tmp_path: Path) -> None:
        bucket.put_all({"train/a": b"a", "train/d/e": b"e", "test/a": b"a", "test/b": b"b"})
        await must_fetch(build(bucket, tmp_path))
        await must_fetch(build(bucket, tmp_path, "s3://words/test"))
        assert read_tree(tmp_path / "t") == {"a": b"a", "b": b"b"}
        assert not (tmp_path / "t/d").exists()

    @pytest.mark.slow
    async def test_a_file_may_become_a_directory_and_back(self, bucket: Bucket, tmp_path: Path) -> None:
        bucket.put_all({"one/a": b"a", "two/a/b": b"b"})
        for uri, files in (("one", {"a": b"a"}), ("two", {"a/b": b"b"}), ("one", {"a": b"a"})):
            await must_fetch(build(bucket, tmp_path, f"s3://words/{uri}"))
            assert read_tree(tmp_path / "t") == files

    async def test_links_that_stand_there_are_replaced(self, bucket: Bucket, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "a").write_bytes(b"mine")
        target = tmp_path / "t"
        target.mkdir()
        for link, to in (("a", outside / "a"), ("deep", outside), (".paddock", outside)):
            (target / link).symlink_to(to)
        bucket.put_all({"train/a": b"a", "train/deep/a": b"b", "train/deep/large": LARGE})
        await must_fetch(build(bucket, tmp_path))
        assert read_tree(target) == {"a": b"a", "deep/a": b"b", "deep/large": LARGE}
        assert not any(each.is_symlink() for each in target.rglob("*"))
        assert os.listdir(outside) == ["a"] and (outside / "a").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("bucket_name", "endpoint", "wanted", "by_host", "region"),
    [
        ("w", "http://127.0.0.1:9000/", "http://127.0.0.1:9000", False, "us-east-1"),
        ("w", "https://minio.example.com", "https://minio.example.com", False, "us-east-1"),
        ("w", "https://oss-cn-hangzhou.aliyuncs.com", "https://w.oss-cn-hangzhou.aliyuncs.com", True, "cn-hangzhou"),
        (
            "w",
            "https://oss-cn-beijing-internal.aliyuncs.com",
            "https://w.oss-cn-beijing-internal.aliyuncs.com",
            True,
            "cn-beijing",
        ),
        ("w", "https://s3.bj.bcebos.com", "https://s3.bj.bcebos.com", False, "bj"),
        (
            "w",
            "https://obs.cn-north-4.myhuaweicloud.com",
            "https://w.obs.cn-north-4.myhuaweicloud.com",
            True,
            "cn-north-4",
        ),
        (
            "w",
            "https://w.obs.cn-north-4.myhuaweicloud.com",
            "https://w.obs.cn-north-4.myhuaweicloud.com",
            True,
            "cn-north-4",
        ),
        ("w", "https://s3.eu-west-1.amazonaws.com", "https://s3.eu-west-1.amazonaws.com", False, "eu-west-1"),
    ],
)
def test_clouds_are_addressed_as_they_want(
    bucket_name: str, endpoint: str, wanted: str, by_host: bool, region: str
) -> None:
    address = build_address(bucket_name, endpoint)
    assert address == {"endpoint": wanted, "virtual_hosted_style_request": by_host}
    assert find_region(endpoint) == region

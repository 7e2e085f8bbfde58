"""What a Dataset's status says is told in Chinese as a whole: no sentence of `paddock.datasets` lacks its text."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from itertools import product

import pytest
from catalogues import find_texts
from obstore.exceptions import InvalidPathError, PermissionDeniedError

from paddock.datasets.claims import explain_missing, explain_pending
from paddock.datasets.definition import Definition, check_options
from paddock.datasets.fetch.bodies import Again, Answer, Body, Changed, Known, Refused, begin, judge, name_host
from paddock.datasets.fetch.buckets import Bucket
from paddock.datasets.fetch.failures import FetchError, explain_os_error
from paddock.datasets.fetch.fences import Fence
from paddock.datasets.fetch.names import check_name
from paddock.datasets.fetch.repositories import Repository
from paddock.datasets.fetch_pods import explain_end, explain_waiting
from paddock.datasets.fetching import Progress
from paddock.datasets.sources import BadSource, read_source
from paddock.datasets.states import explain
from paddock.kube.meta import Key
from paddock.words.catalogues import read_texts
from paddock.words.messages import Template, match, read_template, translate_message

TITLES = re.compile(
    r"\(apt-get install [\w-]+\)|（apt-get install [\w-]+）|“Datasets on a cluster”|Git LFS|Hugging Face"
)
"""Of programs and pages; they have no other name."""


def find_english(text: str, words: int) -> str:
    """A run of so many English words in what is Chinese else; empty if there is none."""
    found = re.search(rf"[A-Za-z]{{2,}}(?: [A-Za-z]{{2,}}){{{words - 1}}}", TITLES.sub("", text))
    return found[0] if found else ""


def find_untold(sentences: list[str], words: int) -> list[tuple[str, str]]:
    said = [(each, translate_message(each, "zh")) for each in sentences if find_english(each, words)]
    return [(each, chinese) for each, chinese in said if find_english(chinese, words)]


def say_verdicts() -> Iterator[str]:
    """The predicates that bodies come to, as http and buckets tell them."""
    ranges = ["", "bytes 5-9/10", "bytes 0-9/10", "bytes 5-9/20", "bytes 5-9/*", "bytes */5", "bytes */9"]
    knowns = [Known(), Known(5, '"a"', True, 10), Known(5, '"a"', False, 12, 11), Known(listed=7, pinned=True,
              validator='"b"')]  # fmt: skip
    answers = [
        Answer(status, content_range, length, transfer, encoding, validator)
        for status, content_range, length, transfer, encoding, validator in product(
            (200, 204, 206, 416), ranges, (None, 5, 10, -5, 2**64), ("", "chunked"), ("", "gzip"), ("", '"a"')
        )
    ]
    verdicts = {begin(known, answer) for known, answer in product(knowns, answers)}
    verdicts |= {judge(body, size) for body in verdicts if isinstance(body, Body) for size in (3, 5, 10, 99)}
    for each in verdicts:
        match each:
            case Changed(said):
                for uri, host in (("https://h.example/x", "h.example"), ("s3://b/x", "the bucket")):
                    yield f"{uri} changes while it is fetched: wait until it does not ({name_host(said, host)})"
            case Refused(said):
                yield str(name_host(said, "https://h.example/x: h.example"))
                yield str(name_host(said, "s3://b/x: the bucket"))
            case Again(part, whole):
                yield f'h.example sent {part} of {whole} bytes of "x"'
                yield f"s3://b/x was cut: the bucket sent {part} of {whole} bytes"


def say_addresses() -> Iterator[str]:
    for uri in (
        "words", "/data", "git@h.example:o/r.git", "oss://b/x", "pvc://c", "ms://o/n", "ssh://h/r", "htps://h/x", "x://y",
        "https://h/a b", "https://ann:p/w@h/x", "git+ssh://ann:pw@h/r", "https:///x", "https://h/", "s3://B/x", "hf://",
        "git+https:///r", "git+file://x", "file://x/../y", "claim://C_", "http://h:x/y", "http://h*/y", "huggingface://o/n",
    ):  # fmt: skip
        with pytest.raises(BadSource) as raised:
            read_source(uri)
        yield f"spec.source.uri: {raised.value}"
    for said in ({"sha256": "5"}, {"endpoint": "https://a@h"}):
        with pytest.raises(BadSource) as raised:
            check_options(read_source("s3://bucket/x"), said)
        yield f"spec.source.{raised.value.field}: {raised.value}"


def say_names() -> Iterator[str]:
    for name in ("", "/x", "a//b", "a/../b", "a\x01", "\ud800", "x" * 256, "x/" * 2000 + "x", ".paddock/x"):
        with pytest.raises(FetchError) as raised:
            check_name(name)
        yield raised.value.message


def say_buckets() -> Iterator[str]:
    bucket, fence = Bucket("b", "https://e.example", None, Fence()), Fence(led_to="other.example")
    yield str(Bucket("b", "", None, fence).explain(OSError(), "x"))
    for error in (
        PermissionDeniedError("x"),
        PermissionDeniedError("<Code>AccessDenied</Code>"),
        InvalidPathError('Path "../x" is bad'),
        InvalidPathError("bad"),
        FileNotFoundError("NoSuchKey"),
        OSError("NoSuchBucket"),
        OSError('invalid type: string "-5", expected u64'),
        OSError("Invalid list response: bad"),
        OSError("status code: 400 Bad: <Code>Bad</Code>"),
        OSError("status code: 503 Slow Down: x"),
        OSError("redirect to another region"),
        OSError("certificate unknown"),
        OSError("broken"),
    ):
        yield str(bucket.explain(error, "x"))


def say_git() -> Iterator[str]:
    repository = Repository("https://h.example/r.git", (), {})
    for said in (
        "fatal: no space left", "fatal: Authentication failed", "Host key verification failed.", "",
        "fatal: certificate problem", "fatal: repository 'r' not found", "fatal: early EOF", "fatal: broken",
    ):  # fmt: skip
        yield str(repository.explain(said, "main"))


def say_cluster() -> Iterator[str]:
    dataset = Definition(Key("default", "words"), "u", read_source("claim://words"), "words")
    for names in ([], ["word"], ["other"], ["aa", "bb", "cc"], ["aa", "bb", "cc", "dd", "ee", "ff", "gg"]):
        yield explain_missing(dataset, names)
    for spec in ({}, {"storageClassName": "fast"}):
        yield explain_pending({"metadata": {"name": "words"}, "spec": spec}, [])
    states: list[Mapping[str, object]] = [
        {"terminated": {"reason": "OOMKilled", "exitCode": 137}}, {"terminated": {"exitCode": 143}},
        {"terminated": {"exitCode": 3}}, {"terminated": {"exitCode": 3, "message": "Killed"}}, {},
    ]  # fmt: skip
    ends = [explain_end(None), *(explain_end({"status": {"containerStatuses": [{"state": each}]}}) for each in states)]
    for end in (*ends, explain_end({"status": {"reason": "Evicted"}})):
        yield f"the pod that fetches was ended before its work was done, 3 times; the last one: {end}"
        yield f"its pod was lost, and another one goes on: {end}"
    for reason in ("", "ErrImagePull"):
        yield explain_waiting({"status": {"containerStatuses": [{"state": {"waiting": {"reason": reason}}}]}}, [])
    yield explain_waiting({}, [{"type": "Warning", "message": "FailedMount"}])


def say_progress() -> Iterator[str]:
    for phase, total, speed, files in product(
        ("listing", "fetching", "retrying"), (0, 10**6, 10**12), (0, 5e5), (0, 3)
    ):
        yield explain(Progress(phase=phase, done=5 * 10**5, total=total, speed=speed, all_files=files))


def say_all() -> list[str]:
    alone = [*say_verdicts(), *say_names(), *say_buckets(), *say_git()]
    alone += [explain_os_error(OSError(each, "x"), "/d").message for each in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)]
    alone += [explain_os_error(OSError(errno.EACCES, "Permission denied"), "/d").message]
    tails = ["; tried 8 times without getting further", ": trying again, 0 B are there",
             ": trying again, 16 %, 900 kB of 7.8 GB are there"]  # fmt: skip
    return [*alone, *(f"{each}{tail}" for each in alone for tail in tails), *say_addresses(), *say_cluster(),
            *say_progress()]  # fmt: skip


@pytest.mark.slow
def test_what_the_parts_of_a_fetch_say_together_is_chinese_as_a_whole() -> None:
    sentences = say_all()
    assert len(set(sentences)) > 200
    assert find_untold(sentences, 3) == []


OPEN = {
    "fetching {subject}", "found {found}: {form}", "found {found}; {why}", "{pods} is starting", "{ranks} was deleted",
    "{said}; it has {known}", "{said}; it has {there}", "{option}: {path} is not {wanted}",
}  # fmt: skip
"""Frames of other sentences, which a sentence of Datasets looks like. The longer text of its own is taken."""


def read_short_texts() -> Iterator[Template]:
    """The texts of other rooms with three words of their own at most."""
    own = {*OPEN, *(text for place, text in find_texts() if place.startswith("datasets/"))}
    for one, many in read_texts("zh"):
        for shown in (one, many) if many else (one,):
            template = read_template(one, many, shown=shown)
            if template and one not in own and _count_own_words(template) <= 3:
                yield template


def _count_own_words(template: Template) -> int:
    return len(re.findall("[A-Za-z]{2,}", " ".join(template.fixed)))


@pytest.mark.slow
def test_no_short_text_of_another_room_takes_a_sentence_of_datasets_for_its_own() -> None:
    sentences = set(say_all())
    taken = [(each.one, said) for each in read_short_texts() for said in sentences if match(each, said) is not None]
    assert taken == []


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ('there is no claim "words" in namespace default, and no other',
         '命名空间 default 中没有存储卷声明 "words"，也没有其他的'),
        ("https://h/x: h sends a part of it (206), though all of it was asked for: correct the server",
         "https://h/x: h 只发送了一部分（206），而请求的是全部：请更正服务器"),
        ("s3://b/x at S3 answers 503 Slow Down; tried 8 times without getting further",
         "S3 上的 s3://b/x 返回 503 Slow Down；尝试 8 次没有进展"),
        ("fetching, 0 %, 512 kB of 1.2 GB, 3 MB/s, 3 days left",
         "正在下载：512 kB/1.2 GB（0%），3 MB/s，剩余 3 天"),
        ('the source has a file "a: b, c", whose name has a control character: rename it there, or leave it out '
         "(spec.source.exclude)",
         '来源中有文件 "a: b, c"，其名称中有控制字符：请在来源处改名，或排除它（spec.source.exclude）'),
    ],
)  # fmt: skip
def test_values_stay_as_they_are(message: str, said: str) -> None:
    assert translate_message(message, "zh") == said

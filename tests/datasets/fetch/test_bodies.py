"""Whether a file is whole: every way in which an answer and its bytes may disagree with what was told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.datasets.fetch.bodies import (
    LARGEST,
    Again,
    Answer,
    Body,
    Changed,
    Known,
    Refused,
    Unknown,
    Verdict,
    Whole,
    begin,
    is_length,
    judge,
    name_host,
)

TAG, OTHER, DATE = '"one"', '"two"', "Wed, 21 Oct 2026 07:28:00 GMT"

FIRST = Known()
WHOLE = Answer(200, length=1000, validator=TAG)
"""One good answer to the first request: 1000 bytes."""

REST = Known(start=300, validator=TAG, conditional=True, total=1000)
PART = Answer(206, "bytes 300-999/1000", 700, validator=TAG)
"""One good answer to a request for the rest, of which 300 bytes are there."""

END = Answer(416, "bytes */300", validator=TAG)
"""One good answer to a request for the rest of a part that is whole."""
COMPLETE = replace(REST, total=300)


def settle(known: Known, answer: Answer, size: int) -> Verdict:
    """`size`: bytes that are there when the body has ended."""
    body = begin(known, answer)
    return judge(body, size) if isinstance(body, Body) else body


def part(told: str, **change: object) -> Answer:
    """The rest with another range."""
    return replace(PART, content_range=f"bytes {told}", **change)


def of(known: Known, **change: object) -> Known:
    return replace(known, **change)


def on(answer: Answer, **change: object) -> Answer:
    return replace(answer, **change)


CASES = [
    # All of it, by 200
    ("all came", FIRST, WHOLE, 1000, Whole),
    ("fewer came than the length says", FIRST, WHOLE, 999, Again),
    ("none came", FIRST, WHOLE, 0, Again),
    ("more came than the length says", FIRST, WHOLE, 1001, Changed),
    ("an empty file", FIRST, on(WHOLE, length=0), 0, Whole),
    ("an empty file with a byte", FIRST, on(WHOLE, length=0), 1, Changed),
    ("no validator", FIRST, on(WHOLE, validator=""), 1000, Whole),
    ("chunks, without a length", FIRST, on(WHOLE, length=None, transfer="chunked"), 1000, Whole),
    ("chunks, and nothing in them", FIRST, on(WHOLE, length=None, transfer="chunked"), 0, Whole),
    ("chunks in capitals", FIRST, on(WHOLE, length=None, transfer="Chunked"), 5, Whole),
    ("neither a length nor chunks", FIRST, on(WHOLE, length=None), 1000, Unknown),
    ("neither a length nor chunks nor a byte", FIRST, on(WHOLE, length=None), 0, Unknown),
    ("a length and chunks", FIRST, on(WHOLE, transfer="chunked"), 1000, Refused),
    ("chunks of packed bytes", FIRST, on(WHOLE, length=None, transfer="gzip, chunked"), 1000, Refused),
    ("packed by gzip", FIRST, on(WHOLE, encoding="gzip"), 1000, Refused),
    ("packed by br", FIRST, on(WHOLE, encoding="br"), 1000, Refused),
    ("packed by several", FIRST, on(WHOLE, encoding="identity, GZIP"), 1000, Refused),
    ("packed by nothing", FIRST, on(WHOLE, encoding="identity"), 1000, Whole),
    ("a length below 0", FIRST, on(WHOLE, length=-5), 0, Refused),
    ("the largest length", FIRST, on(WHOLE, length=LARGEST), 1000, Again),
    ("a length above the largest", FIRST, on(WHOLE, length=LARGEST + 1), 1000, Refused),
    ("a range that belongs to no 200", FIRST, on(WHOLE, content_range="bytes 0-9/10"), 1000, Whole),
    ("204", FIRST, on(WHOLE, status=204, length=None), 0, Refused),
    ("203", FIRST, on(WHOLE, status=203), 1000, Refused),
    ("304 that nobody asked for", FIRST, on(WHOLE, status=304), 0, Refused),
    ("206 that nobody asked for", FIRST, part("0-999/1000", length=1000), 1000, Refused),
    ("206 that nobody asked for, of ten bytes", FIRST, Answer(206, "bytes 0-9/*", 10), 10, Refused),
    ("416 that nobody asked for", FIRST, Answer(416, "bytes */0"), 0, Refused),
    ("416 that nobody asked for, of the size that is there", of(FIRST, total=0), Answer(416, "bytes */0"), 0, Refused),
    # All of it again
    ("200 in place of the rest", REST, WHOLE, 1000, Whole),
    ("200 of another content", REST, on(WHOLE, validator=OTHER, length=500), 500, Whole),
    ("200 of the same content and another length", REST, on(WHOLE, length=500), 500, Changed),
    ("200 in chunks, shorter than told", REST, on(WHOLE, length=None, transfer="chunked"), 500, Again),
    ("200 in chunks, longer than told", REST, on(WHOLE, length=None, transfer="chunked"), 1001, Changed),
    ("200 of the same content without a length, as long as told", REST, on(WHOLE, length=None), 1000, Whole),
    ("200 of the same content without a length, shorter", REST, on(WHOLE, length=None), 600, Again),
    ("200 of another content without a length", REST, on(WHOLE, length=None, validator=OTHER), 600, Unknown),
    ("200 without a validator, of another length", REST, on(WHOLE, length=500, validator=""), 500, Whole),
    # The rest, by 206
    ("the rest", REST, PART, 1000, Whole),
    ("less than the range says", REST, PART, 999, Again),
    ("nothing of the range", REST, PART, 300, Again),
    ("more than the range says", REST, on(PART, length=None, transfer="chunked"), 1100, Changed),
    ("the rest in chunks", REST, on(PART, length=None, transfer="chunked"), 1000, Whole),
    ("the rest until the connection ends", REST, on(PART, length=None), 1000, Whole),
    ("the rest until the connection ends, too early", REST, on(PART, length=None), 700, Again),
    ("some of the rest", REST, part("300-399/1000", length=100), 400, Again),
    ("the rest, and no earlier length", of(REST, total=None), PART, 1000, Whole),
    ("a range of another beginning", REST, part("0-699/1000"), 1000, Changed),
    ("a range that begins later", REST, part("301-1000/1001"), 1000, Changed),
    ("a range that ends before it begins", REST, part("300-299/1000", length=0), 300, Changed),
    ("a range beyond its whole", REST, part("300-999/900"), 1000, Changed),
    ("a length that is not the range's", REST, on(PART, length=100), 400, Changed),
    ("no range", REST, on(PART, content_range=""), 1000, Changed),
    ("a range in other units", REST, on(PART, content_range="lines 300-999/1000"), 1000, Changed),
    ("a range that is none", REST, part("x-999/1000"), 1000, Changed),
    ("a range with a sign", REST, part("300-+999/1000"), 1000, Changed),
    ("a range that is not satisfied", REST, part("*/1000"), 1000, Changed),
    ("another whole than before, the same ETag", REST, part("300-499/500", length=200), 500, Changed),
    ("a whole that is not told, and was", REST, part("300-599/*", length=300), 600, Again),
    ("a whole that is not told, and is reached", REST, part("300-999/*"), 1000, Whole),
    ("a whole that is not told, and is passed", REST, part("300-1099/*", length=800), 1100, Changed),
    ("a whole that was never told", of(REST, total=None), part("300-999/*"), 1000, Unknown),
    ("a whole that was never told, cut", of(REST, total=None), part("300-999/*"), 900, Again),
    ("a whole above the largest", of(REST, total=None), part(f"300-999/{LARGEST + 1}"), 1000, Refused),
    ("the rest packed by gzip", REST, on(PART, encoding="gzip"), 1000, Refused),
    ("the rest with a length and chunks", REST, on(PART, transfer="chunked"), 1000, Refused),
    ("the rest of another content", REST, on(PART, validator=OTHER), 1000, Changed),
    ("the rest without its ETag", REST, on(PART, validator=""), 1000, Changed),
    ("the rest without its date", of(REST, validator=DATE), on(PART, validator=""), 1000, Whole),
    ("the rest of another date", of(REST, validator=DATE), on(PART, validator=TAG), 1000, Changed),
    ("an ETag that could not be sent, the same", of(REST, conditional=False), PART, 1000, Whole),
    ("an ETag that could not be sent, another", of(REST, conditional=False), on(PART, validator=OTHER), 1000, Changed),
    ("a date that was not sent", of(REST, validator=DATE, conditional=False), on(PART, validator=""), 1000, Changed),
    ("no validator, and a checksum", Known(300, checked=True), on(PART, validator=""), 1000, Whole),
    ("no validator, and no checksum", Known(300), on(PART, validator=""), 1000, Changed),
    ("a checksum, and another ETag", of(REST, checked=True), on(PART, validator=OTHER), 1000, Changed),
    ("a checksum, and another whole than before", of(REST, checked=True, total=900), PART, 1000, Changed),
    # Nothing is left, by 416
    ("nothing is left", COMPLETE, END, 300, Whole),
    ("nothing is left, and no earlier length", of(REST, total=None), END, 300, Whole),
    ("nothing is left, without its ETag", COMPLETE, on(END, validator=""), 300, Whole),
    ("nothing is left of another content", COMPLETE, on(END, validator=OTHER), 300, Changed),
    ("nothing is left of a longer file", REST, END, 300, Changed),
    ("nothing is left, and the file is longer", COMPLETE, on(END, content_range="bytes */1000"), 300, Changed),
    ("nothing is left, and the file is shorter", COMPLETE, on(END, content_range="bytes */200"), 300, Changed),
    ("nothing is left, and no whole", COMPLETE, on(END, content_range="bytes */*"), 300, Changed),
    ("nothing is left, without a range", COMPLETE, on(END, content_range=""), 300, Changed),
    ("nothing is left, with a part", COMPLETE, on(END, content_range="bytes 0-299/300"), 300, Changed),
    ("nothing is left, an ETag was not sent", of(COMPLETE, conditional=False), on(END, validator=""), 300, Changed),
    # A listing
    ("as long as listed", of(FIRST, listed=1000), WHOLE, 1000, Whole),
    ("another length than listed", of(FIRST, listed=10), on(WHOLE, length=2), 2, Changed),
    ("longer than listed", of(FIRST, listed=10), on(WHOLE, length=11), 11, Changed),
    ("shorter than listed, until the connection ends", of(FIRST, listed=10), Answer(200), 2, Again),
    ("shorter than listed, in chunks", of(FIRST, listed=10), Answer(200, transfer="chunked"), 2, Again),
    ("as long as listed, until the connection ends", of(FIRST, listed=10), Answer(200), 10, Whole),
    ("longer than listed, until the connection ends", of(FIRST, listed=10), Answer(200), 11, Changed),
    ("listed as empty, and is not", of(FIRST, listed=0), Answer(200), 2, Changed),
    ("the rest, as listed", of(REST, listed=1000, total=None), PART, 1000, Whole),
    ("the rest of another whole than listed", of(REST, listed=900, total=None), PART, 1000, Changed),
    ("some of the rest of what is listed", of(REST, listed=1000), part("300-599/*", length=300), 600, Again),
    ("nothing is left of what is listed longer", of(COMPLETE, listed=1000), END, 300, Changed),
    ("nothing is left of what is listed", of(COMPLETE, listed=300), END, 300, Whole),
    # One content alone is wanted
    ("the content that is wanted", of(FIRST, validator=TAG, pinned=True), WHOLE, 1000, Whole),
    ("another content than the one that is wanted", of(FIRST, validator=OTHER, pinned=True), WHOLE, 1000, Changed),
    ("a content without a name", of(FIRST, validator=OTHER, pinned=True), on(WHOLE, validator=""), 1000, Whole),
]  # fmt: skip


@pytest.mark.parametrize(
    ("known", "answer", "size", "verdict"), [each[1:] for each in CASES], ids=[each[0] for each in CASES]
)
def test_a_body_is_whole_or_it_is_not(known: Known, answer: Answer, size: int, verdict: type[Verdict]) -> None:
    found = settle(known, answer, size)
    assert type(found) is verdict, found
    if isinstance(found, Changed | Refused):
        said = str(name_host(found.said, "h.example"))
        assert said.startswith("h.example ") and said.isprintable()


def test_the_table_has_no_row_twice() -> None:
    assert len({each[0] for each in CASES}) == len(CASES) >= 60


@pytest.mark.parametrize(
    ("size", "is_one"),
    [(0, True), (LARGEST, True), (LARGEST + 1, False), (-5, False), (None, False), (2.0, False), (True, False)],
)
def test_a_size_of_a_listing_is_a_length(size: object, is_one: bool) -> None:
    assert is_length(size) is is_one


_sizes = st.none() | st.integers(-1, 12)
_tags = st.sampled_from(["", TAG, OTHER, DATE])
_ranges = st.builds("bytes {}-{}/{}".format, st.integers(0, 12), st.integers(0, 12), st.integers(0, 12) | st.just("*"))


@given(
    st.builds(Known, st.integers(0, 6), _tags, st.booleans(), _sizes, _sizes, st.booleans(), st.booleans()),
    st.builds(
        Answer,
        st.sampled_from([200, 204, 206, 416]),
        _ranges | st.sampled_from(["", "bytes */4", "bytes */*"]),
        _sizes,
        st.sampled_from(["", "chunked"]),
        st.sampled_from(["", "gzip"]),
        _tags,
    ),
    st.integers(0, 14),
)
def test_what_is_whole_has_the_length_that_was_told(known: Known, answer: Answer, size: int) -> None:
    """Whatever was asked and answered: of the same content no length that was told is another than what is there."""
    found = settle(known, answer, size)
    if not isinstance(found, Whole):
        return
    assert answer.encoding == "" or answer.status == 416, "the body of a refusal is not the content"
    assert known.listed in (None, known.start if answer.status == 416 else size)
    if answer.status == 200:
        assert answer.length in (None, size)
    else:
        assert known.start > 0 and known.total in (None, known.start if answer.status == 416 else size)
        assert known.checked or (known.validator and answer.validator in ("", known.validator))

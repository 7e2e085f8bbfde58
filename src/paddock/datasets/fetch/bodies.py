"""Whether a body is the whole file: by what was asked, what the answer says, how many bytes came. Pure.

The end of a body proves nothing: a proxy cuts it, a server sends a part that nobody asked for, or tells another length
than before. So all that was told is compared: the length of this answer and of earlier ones of the same content, the
size in a listing, the range. A whole that cannot be shown to be whole is `Unknown`. Nothing else decides.

http, hubs and S3 give a `Known` and an `Answer` to `begin`, write the bytes where its `Body` says, and give the size of
the file then to `judge`. A body whose connection broke is none of these: its bytes are kept, and the rest is asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from paddock.words.phrases import Phrase, phrase

LARGEST = 2**63 - 1
"""Bytes of a file: what a file system counts (off_t), and what the API stores (int64)."""

_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,20}-[0-9]{1,20}|\*)/([0-9]{1,20}|\*)", re.ASCII | re.IGNORECASE)
_PLAIN = ("", "identity")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before a request."""

    start: int = 0
    """The first byte that it asks for, which is the number of bytes that are there; 0: it asks for the whole file,
    without Range."""
    validator: str = ""
    """Of the content that they are of, an ETag or a date; empty: nobody said."""
    conditional: bool = False
    """It asks for them If-Range."""
    total: int | None = None
    """The length of that content, as an earlier answer told."""
    listed: int | None = None
    """The size in a listing."""
    checked: bool = False
    """A checksum will tell whether the parts belong together."""
    pinned: bool = False
    """Only the content of the validator is wanted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer, by its headers."""

    status: int
    content_range: str = ""
    length: int | None = None  # Content-Length
    transfer: str = ""  # Transfer-Encoding
    encoding: str = ""
    validator: str = ""


@dataclass(frozen=True, slots=True)
class Body:
    """Bytes that are to be taken."""

    start: int  # where the first of them goes; 0: in place of what is there
    end: int | None  # where the last must be; None if nobody told
    total: int | None  # the length of the whole file; None if nobody told
    framed: bool  # a cut of the body is an error of the connection, as it has a length or chunks


@dataclass(frozen=True, slots=True)
class Whole:
    """All bytes of one content are there."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """What came may be all of it: nobody told how long it is."""


@dataclass(frozen=True, slots=True)
class Again:
    """Bytes are missing: those that are there stay, and the rest is asked for."""

    part: int
    """Bytes that came."""
    whole: int
    """Bytes that were told."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The bytes that are there are of another content, or nothing says that they are not: all is asked for again,
    from the first byte."""

    said: Phrase
    """Its {host} is open, see `name_host`."""


@dataclass(frozen=True, slots=True)
class Refused:
    """No answer of this kind is taken."""

    said: Phrase
    """With what to do. Its {host} is open, see `name_host`."""


def name_host(said: Phrase, host: Phrase | str) -> Phrase:
    """The sentence of a verdict with the server that it is of: a host of http, or a bucket."""
    return replace(said, args=(("host", host), *said.args))


Verdict = Whole | Unknown | Again | Changed | Refused


def is_length(size: object) -> bool:
    """Whether a number in a listing or in a header can be the length of a file."""
    return isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= LARGEST


def begin(known: Known, answer: Answer) -> Body | Verdict:
    """What is to be done with the body of an answer; a verdict where there is nothing to take."""
    if answer.status == 416:
        return _read_nothing_left(known, answer)
    if answer.status not in (200, 206):
        return Refused(phrase("{host} answers {code}, which is no file", code=answer.status))
    if (problem := _explain_form(answer)) is not None:
        return Refused(problem)
    body = _read_whole(known, answer) if answer.status == 200 else _read_part(known, answer)
    if isinstance(body, Body) and body.total is not None and body.total > LARGEST:
        return Refused(
            phrase("{host} tells a length of {number} bytes, and {most} are the most", number=body.total, most=LARGEST)
        )
    return body


def judge(body: Body, size: int) -> Verdict:
    """What the file is, now that the body has ended without an error and `size` bytes are there."""
    if body.end is not None and size > body.end:
        return Changed(phrase("{host} sent more bytes than it told"))
    if body.end is not None and size < body.end:
        return Again(size, body.end if body.total is None else body.total)
    if body.total is not None:
        return Whole() if size == body.total else Again(size, body.total)
    return Whole() if body.framed and body.end is None else Unknown()


def _explain_form(answer: Answer) -> Phrase | None:
    """Why a body cannot be read as bytes of the file (RFC 9110, 8.4; RFC 9112, 6.1 and 6.3)."""
    packed = [each for each in _list(answer.encoding) if each not in _PLAIN]
    packed += [each for each in _list(answer.transfer) if each not in (*_PLAIN, "chunked")]
    if packed:
        return phrase(
            "{host} sends it packed by {name}, though it was asked not to: have it send the file as it is",
            name=packed[0][:60],
        )
    if answer.length is not None and _is_chunked(answer):
        return phrase(
            "{host} tells a length and sends chunks, so that nobody knows which of them counts: correct the server"
        )
    if answer.length is not None and not is_length(answer.length):
        return phrase(
            "{host} tells a length of {number} bytes, and 0 to {most} are possible", number=answer.length, most=LARGEST
        )
    return None


def _read_whole(known: Known, answer: Answer) -> Body | Verdict:
    """Reads an answer 200: the file from its first byte, of whatever content it is now."""
    same = answer.validator != "" and answer.validator == known.validator
    if known.pinned and answer.validator and not same:
        return Changed(phrase("{host} sends another content than was asked for"))
    earlier = known.total if same else None
    if answer.length is not None and earlier is not None and answer.length != earlier:
        return _explain_length(answer.length, earlier)
    total = earlier if answer.length is None else answer.length
    if problem := _compare_listing(known, total):
        return problem
    total = known.listed if total is None else total
    return Body(0, total, total, answer.length is not None or _is_chunked(answer))


def _read_part(known: Known, answer: Answer) -> Body | Verdict:
    """Reads an answer 206: the rest, or some of it."""
    if not known.start:
        return Refused(phrase("{host} sends a part of it (206), though all of it was asked for: correct the server"))
    found = _CONTENT_RANGE.fullmatch(answer.content_range)
    if found is None or found[1] == "*":
        return Changed(phrase("{host} does not say which part it sends"))
    first, last = map(int, found[1].split("-"))
    told = None if found[2] == "*" else int(found[2])
    if first != known.start or last < first or (told is not None and last >= told):
        return Changed(
            phrase(
                "{host} sends the part {positions} of {size}, and was asked for that from {number}",
                positions=found[1], size=found[2], number=known.start,
            )
        )  # fmt: skip
    if answer.length is not None and answer.length != last + 1 - first:
        return Changed(
            phrase(
                "{host} tells a length of {number} bytes for the part {positions}",
                number=answer.length, positions=found[1],
            )
        )  # fmt: skip
    if not _is_same(known, answer, told_always=True):
        return Changed(phrase("{host} does not say that the rest is of the same content"))
    if told is not None and known.total is not None and told != known.total:
        return _explain_length(told, known.total)
    total = known.total if told is None else told
    if problem := _compare_listing(known, total):
        return problem
    total = known.listed if total is None else total
    if total is not None and last >= total:
        return Changed(phrase("{host} sends the part {positions} of {whole} bytes", positions=found[1], whole=total))
    return Body(first, last + 1, total, answer.length is not None or _is_chunked(answer))


def _explain_length(length: int, earlier: int) -> Changed:
    return Changed(
        phrase(
            "{host} tells a length of {number} bytes, and has told {whole} for the same content",
            number=length, whole=earlier,
        )
    )  # fmt: skip


def _read_nothing_left(known: Known, answer: Answer) -> Verdict:
    """Reads an answer 416: the file ends where the rest was to begin, if it is no shorter (RFC 9110, 15.5.17)."""
    if not known.start:
        return Refused(phrase("{host} has no such part (416), though all of it was asked for: correct the server"))
    found = _CONTENT_RANGE.fullmatch(answer.content_range)
    ends = found is not None and found[1] == "*" and found[2] == str(known.start)
    agrees = known.total in (None, known.start) and known.listed in (None, known.start)
    if ends and agrees and _is_same(known, answer, told_always=False):
        return Whole()
    return Changed(phrase("{host} has no such part"))


def _is_same(known: Known, answer: Answer, *, told_always: bool) -> bool:
    """Whether the rest is of the content of the bytes before it (RFC 9110, 15.3.7.3). `told_always`: the answer must
    have the ETag that the whole file had (15.3.7); it need not have a date that was asked for."""
    if answer.validator and known.validator:
        return answer.validator == known.validator
    if known.checked:
        return True
    is_tag = known.validator.startswith('"')
    return known.conditional and known.validator != "" and not (is_tag and told_always)


def _compare_listing(known: Known, total: int | None) -> Changed | None:
    if total is None or known.listed is None or total == known.listed:
        return None
    return Changed(
        phrase(
            "{host} tells a length of {number} bytes, and the listing says {whole}", number=total, whole=known.listed
        )
    )


def _is_chunked(answer: Answer) -> bool:
    return "chunked" in _list(answer.transfer)


def _list(text: str) -> list[str]:
    return [each.strip().lower() for each in text.split(",")]

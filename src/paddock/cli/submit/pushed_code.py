"""The files of a directory as entries of a layer: chosen as for a ConfigMap, without its bounds. I/O."""

from __future__ import annotations

from pathlib import Path

from paddock.cli.cluster.errors import UserError
from paddock.cli.submit.directory_files import Found, find_files
from paddock.cli.submit.directory_map import largest, left_out, name_files
from paddock.cli.submit.secret_files import explain_secrets, is_secret
from paddock.images.building import DIRECTORY
from paddock.images.layers import Entry
from paddock.kube.quantities import format_bytes
from paddock.words.os_errors import explain_unreadable
from paddock.words.phrases import Phrase, counted, phrase

LARGEST = 2 * 2**30
"""Bytes of all files. More is data, which a volume or a Dataset brings once for all jobs."""
_LOOKED_AT = 2**20
"""Bytes of a file that are looked at for a secret: keys and tokens stand in small files, or at the begin of them."""


def read_code(directory: Path, shown: str) -> tuple[Found, tuple[Entry, ...]]:
    """The files of a directory. Raises `UserError`: none, too large, a secret among them."""
    found = find_files(directory)
    if problem := explain_unsent(found, shown):
        raise UserError(problem)
    secrets = [
        file.path
        for file in found.files
        if not file.negated_by_name and is_secret(file.path, _read_head(directory / file.path))
    ]
    if secrets:
        raise UserError(explain_secrets(secrets, shown, in_image=True))
    entries = tuple(
        Entry(f"{DIRECTORY}/{file.path}", directory / file.path, executable=file.executable) for file in found.files
    )
    return found, entries


def explain_unsent(found: Found, shown: str) -> Phrase | None:
    """Why the files are not sent; None where they are. Pure."""
    if not found.files:
        return phrase("there is no file to send in {directory}{left}", directory=shown, left=left_out(found))
    size = sum(file.size for file in found.files)
    if size <= LARGEST:
        return None
    listed = "".join(f"\n  {format_bytes(file.size):>9}  {file.path}" for file in largest(found))
    return phrase(
        "{directory} is too large to travel in an image: {count} files, {size}, and at most {most}. The largest "
        "are:{listed}\nPut data into a volume or a Dataset, or list in .gitignore what the program does not need",
        directory=shown, count=len(found.files), size=format_bytes(size), most=format_bytes(LARGEST), listed=listed,
    )  # fmt: skip


def explain_code(found: Found, shown: str) -> Phrase:
    """`12 files, 34 KiB, of . go into the image at /paddock/workdir; left out: 3 by .gitignore`, and which. Pure."""
    return counted(
        "{count} file, {size}, of {directory} goes into the image, at {path}{left}\n  {names}",
        "{count} files, {size}, of {directory} go into the image, at {path}{left}\n  {names}",
        count=len(found.files), size=format_bytes(sum(file.size for file in found.files)), directory=shown,
        path=f"/{DIRECTORY}", left=left_out(found), names=name_files(found),
    )  # fmt: skip


def _read_head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(_LOOKED_AT)
    except OSError as error:
        raise UserError(
            phrase("{path} cannot be read: {why}", path=str(path), why=explain_unreadable(error))
        ) from error

"""All files of a listing, several at once, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.listing import Entry, Listing, digest
from paddock.datasets.fetch.meter import FETCHING, LISTING, Meter
from paddock.datasets.fetch.target import Target

AT_ONCE = 8
"""Files that are fetched at the same time."""

Transfer = Callable[[Entry], Awaitable[None]]


async def fetch_all(listing: Listing, target: Target, meter: Meter, transfer: Transfer) -> None:
    """Fetches the files that are not there yet, by `transfer`; then those that the listing has not are removed. Raises
    `FetchError` and OSError, of the first that fails."""
    meter.expect(listing.size, listing.files)
    target.check_space(listing.size - _measure(listing, target))
    meter.enter(FETCHING)
    entries = iter(listing)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(_work(entries, target, meter, transfer))
    except* (FetchError, OSError) as failures:
        raise _first(failures) from None
    if target.had_files:
        meter.enter(LISTING)
        names = listing.read_names()
        target.remove_others(lambda name: digest(name) in names)


def _measure(listing: Listing, target: Target) -> int:
    """Bytes of the listing that are there."""
    if not target.had_files and target.has_no_parts():
        return 0
    return sum(
        entry.size if target.has(entry.name, entry.size, entry.identity) else target.peek_part(entry.name)
        for entry in listing
    )


async def _work(entries: Iterator[Entry], target: Target, meter: Meter, transfer: Transfer) -> None:
    """One of those who take the next entry until there is none."""
    kept = 0
    for entry in entries:
        if not target.has(entry.name, entry.size, entry.identity):
            await transfer(entry)
            continue
        meter.find(entry.size, 1)
        kept += 1
        if not kept % 500:
            await asyncio.sleep(0)


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group

"""All objects under a prefix of a bucket, with obstore: S3, and what speaks it (OSS, BOS, OBS, MinIO).

First the listing goes into a file of `.paddock`, so that 10^6 objects take no memory and their size is known; then
several objects are fetched at once. A large one is a part that goes on where it was, `If-Match` its ETag; a small one
comes at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import unquote

import obstore
from obstore.exceptions import BaseError

from paddock.datasets.fetch.buckets import Bucket, build_store
from paddock.datasets.fetch.failures import FetchError
from paddock.datasets.fetch.fences import open_fence
from paddock.datasets.fetch.listing import Entry, Listing
from paddock.datasets.fetch.meter import LISTING, Meter
from paddock.datasets.fetch.names import Patterns
from paddock.datasets.fetch.objects import Transfer, build_entry
from paddock.datasets.fetch.target import Target
from paddock.datasets.fetch.transfers import fetch_all
from paddock.datasets.fetch.tries import Patience, Tries, TryAgain
from paddock.datasets.fetching import Fetched, Request
from paddock.datasets.sources import Source
from paddock.words.phrases import Phrase, phrase


async def fetch(request: Request, source: Source, target: Target, meter: Meter, patience: Patience) -> Fetched:
    """The objects under `source`, in `target`. Raises `FetchError` and OSError."""
    async with open_fence() as fence:
        store = build_store(source.place, request.endpoint, request.region, request.secret, fence)
        bucket = Bucket(source.place, request.endpoint, store, fence)
        listing = Listing(target.state, Patterns(request.include, request.exclude))
        try:
            await _list(bucket, unquote(source.path), listing, meter, patience)

            async def transfer(entry: Entry) -> None:
                await Transfer(bucket, entry, target, meter, patience).run()

            await fetch_all(listing, target, meter, transfer)
            doubted = bucket.is_doubted(target)
            return Fetched(size=meter.done, files=meter.files, fetched=meter.fetched, tags_differ=doubted)
        finally:
            listing.close()


async def _list(bucket: Bucket, prefix: str, listing: Listing, meter: Meter, patience: Patience) -> None:
    """All objects under the prefix, which may also be the key of one. From its beginning where it is cut."""
    meter.enter(LISTING)
    tries = Tries(meter, patience)
    while True:
        listing.clear()
        try:
            async for entry in _iterate(bucket, prefix):
                listing.add(entry)
                if not listing.seen % 1000:
                    tries.reach(listing.seen)
                    meter.expect(listing.size, listing.files)
                    meter.tick()
            break
        except (BaseError, OSError) as error:
            if isinstance(error, OSError) and error.errno:
                raise  # of a write here
            problem = bucket.explain(error, prefix)
            if not isinstance(problem, TryAgain):
                raise problem from None
            await tries.wait(problem)
    if not listing.files:
        raise FetchError(_explain_nothing(bucket, prefix, listing.seen))
    listing.seal()


def _explain_nothing(bucket: Bucket, prefix: str, seen: int) -> Phrase:
    where = bucket.name_place(prefix)
    if seen:
        return phrase(
            "{uri} has {count} objects, and spec.source.include and exclude leave none of them", uri=where, count=seen
        )
    return phrase("{uri} has no objects: correct spec.source.uri; a prefix ends where a name does", uri=where)


async def _iterate(bucket: Bucket, prefix: str) -> AsyncIterator[Entry]:
    """A key that is the prefix is one file; below, the name is what follows the prefix and its "/"."""
    if prefix and not prefix.endswith("/"):
        try:
            yield build_entry(await obstore.head_async(bucket.store, prefix), prefix.rpartition("/")[0])
            return
        except FileNotFoundError:
            pass
    folder = prefix.strip("/")
    async for chunk in bucket.store.list(folder or None, chunk_size=1000):
        for meta in chunk:
            # A place that is the folder itself: the empty object by which consoles show one.
            if meta["path"] != folder:
                yield build_entry(meta, folder)
        await asyncio.sleep(0)

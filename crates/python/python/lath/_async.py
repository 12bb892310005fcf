"""Awaiting rows: threads of Lath do the work, and another thread waits for it, so that the event loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

    from lath._lath import Batch, Batches, Dataset, Scan, Where


async def next_batch(batches: Batches) -> Batch:
    """The next batch of an iteration. If the task is cancelled, the iteration ends."""
    try:
        batch = await asyncio.to_thread(next, batches, None)
    except asyncio.CancelledError:
        batches.close()
        raise
    if batch is None:
        raise StopAsyncIteration
    return batch


async def run(scan: Scan, method: str) -> Any:
    """The result of a method of a scan. If the task is cancelled, the scan is stopped."""
    try:
        return await asyncio.to_thread(getattr(scan, method))
    except asyncio.CancelledError:
        scan._stop()
        raise


async def find(dataset: Dataset, where: Where, columns: Sequence[str] | None, limit: int | None) -> pyarrow.Table:
    """The rows of a dataset for which a condition is true."""
    scan = await asyncio.to_thread(dataset.find, where, columns, limit)
    table: pyarrow.Table = await run(scan, "to_arrow")
    return table


async def count(dataset: Dataset, where: Where | None) -> int:
    """The number of rows of a dataset for which a condition is true."""
    rows: int = await run(await asyncio.to_thread(dataset.scan, [], where), "count")
    return rows

"""Awaiting rows."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import lath

WHERE = "price > 12 AND rider.plan = 'by minute'"


def test_rows_are_awaited(trips: lath.Dataset) -> None:
    async def work() -> None:
        assert await trips.count_async(WHERE) == trips.count(WHERE)
        found = await trips.find_async(WHERE, ["price"], 10)
        assert found == trips.find(WHERE, ["price"], 10).to_arrow()
        scan = trips.scan(["price"], WHERE)
        assert (await scan.to_arrow_async()).num_rows == await scan.count_async() == 780
        assert (await scan.to_polars_async()).shape == (await scan.to_pandas_async()).shape == (780, 1)
        with pytest.raises(lath.InvalidError, match="where"):
            await trips.find_async("prize > 3")

    asyncio.run(work())


def test_batches_are_awaited_in_order(trips: lath.Dataset) -> None:
    async def work() -> list[int]:
        return [len(batch) async for batch in trips.scan(["price"], batch_size=1000)]

    assert asyncio.run(work()) == [len(batch) for batch in trips.scan(["price"], batch_size=1000)]

    async def rows() -> int:
        return sum([len(batch) async for batch in trips])

    assert asyncio.run(rows()) == len(trips)


def test_the_event_loop_goes_on_meanwhile(large: Path) -> None:
    async def work() -> int:
        dataset = lath.open(f"@{large}")
        counting = asyncio.ensure_future(dataset.count_async("text LIKE '%no such text%'"))
        turns = 0
        while not counting.done():
            await asyncio.sleep(0)
            turns += 1
        assert await counting == 0
        return turns

    assert asyncio.run(work()) > 1


def test_a_cancelled_task_stops_its_scan(large: Path) -> None:
    async def work() -> None:
        scan = lath.open(f"@{large}").scan(where="text LIKE '%no such text%'")
        counting = asyncio.ensure_future(scan.count_async())
        while scan.report is None:
            await asyncio.sleep(0.001)
        counting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await counting
        # The loop ends only once the thread has ended, which would read all rows otherwise.
        await asyncio.get_running_loop().shutdown_default_executor()
        assert scan.report.rows_tested < 3000 * 3000

    asyncio.run(work())

"""The report of a scan, as a table in text or HTML."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from lath._report_html import render


@dataclass(frozen=True)
class Pruned:
    """Row groups, pages and rows that one step pruned, without reading them."""

    #: Row groups without a remaining row.
    row_groups: int
    #: Pages without a remaining row, in row groups with remaining rows.
    pages: int
    #: Rows, in row groups and in pages.
    rows: int


@dataclass(frozen=True)
class Report:
    """Counts of a scan: files and rows that it pruned, read and found. ``print`` shows them like ``--explain`` of the command."""

    #: Files of the dataset, files that were pruned by partition, and files that were opened.
    files: int
    files_pruned: int
    files_opened: int
    #: Row groups of the opened files, and row groups left after pruning.
    row_groups: int
    row_groups_left: int
    #: Their rows: all, left after pruning, tested, and found.
    rows: int
    rows_left: int
    rows_tested: int
    rows_found: int
    #: Row groups and pages that each step has pruned.
    by_statistics: Pruned
    by_bloom_filters: Pruned
    by_dictionaries: Pruned
    by_page_index: Pruned
    #: Bytes that were read, and the number of requests.
    bytes_read: int
    requests: int
    #: Seconds since the scan began; each step is the sum over all threads.
    seconds: float
    seconds_opening: float
    seconds_pruning: float
    seconds_testing: float
    seconds_fetching: float

    @property
    def row_groups_pruned(self) -> int:
        """Row groups that were pruned."""
        return self.row_groups - self.row_groups_left

    def as_dict(self) -> dict[str, Any]:
        """The counts as a dictionary, for example to write them as JSON."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [_HEAD, *self._rows()]
        widths = [max(len(row[at]) for row in rows) for at in range(len(_HEAD))]
        lines = []
        for name, *cells in rows:
            figures = [cell.rjust(width) for cell, width in zip(cells, widths[1:])]
            lines.append("  ".join([name.ljust(widths[0]), *figures]).rstrip())
        return "\n".join([*lines, self._last_line()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return render(self, _HEAD, self._rows(), self._last_line())

    def _rows(self) -> list[tuple[str, ...]]:
        def stage(name: str, pruned: Pruned, seconds: str = "") -> tuple[str, ...]:
            return (name, "", f"{pruned.row_groups:,}", f"{pruned.pages:,}", f"{pruned.rows:,}", seconds)

        return [
            ("named", f"{self.files:,}", "", "", "", ""),
            ("pruned by partition", f"{self.files_pruned:,}", "", "", "", ""),
            (
                "opened",
                f"{self.files_opened:,}",
                f"{self.row_groups:,}",
                "",
                f"{self.rows:,}",
                _time(self.seconds_opening),
            ),
            stage("pruned by statistics", self.by_statistics, _time(self.seconds_pruning)),
            stage("pruned by Bloom filters", self.by_bloom_filters),
            stage("pruned by dictionaries", self.by_dictionaries),
            stage("pruned by page index", self.by_page_index),
            ("left", "", f"{self.row_groups_left:,}", "", f"{self.rows_left:,}", ""),
            ("tested", "", "", "", f"{self.rows_tested:,}", _time(self.seconds_testing)),
            ("found", "", "", "", f"{self.rows_found:,}", _time(self.seconds_fetching)),
        ]

    def _last_line(self) -> str:
        requests = "request" if self.requests == 1 else "requests"
        return (
            f"{_bytes(self.bytes_read)} read in {self.requests:,} {requests}, {_time(self.seconds)} in all; "
            "times of stages are summed over all threads"
        )


_HEAD = ("", "files", "row groups", "pages", "rows", "time")


def _time(seconds: float) -> str:
    millis = seconds * 1e3
    if millis >= 10_000:
        return f"{seconds:.1f} s"
    return f"{millis:.0f} ms" if millis >= 100 else f"{millis:.2f} ms"


def _bytes(count: int) -> str:
    if count < 1024:
        return f"{count} B"
    size, unit = float(count), ""
    for unit in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]:
        size /= 1024
        if size < 999.5:
            break
    decimals = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{size:.{decimals}f} {unit}"

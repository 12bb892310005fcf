"""The report of a scan as HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import lath
from conftest import a_key


class Bars(HTMLParser):
    """The bars: for each its segments, as text and share."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.bars: list[dict[str, float]] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        of = {name: value or "" for name, value in attrs}
        if of.get("class") == "lath-bar":
            self.bars.append({})
        elif "title" in of:
            width = re.match(r"width:([\d.]+)%", of["style"])
            assert width
            self.bars[-1][of["title"]] = float(width[1])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_bars_have_the_figures(keyed: Path) -> None:
    report = lath.open(keyed).explain(f"key = {a_key(keyed)}")
    bars = Bars(report._repr_html_()).bars
    assert len(bars) == 4
    files, row_groups, pages, rows = bars
    assert files == {"left: 10 files": 100.0}
    assert row_groups[f"Bloom filters: {report.by_bloom_filters.row_groups} row groups"] > 50
    assert report.by_bloom_filters.row_groups > 20
    assert (f"left: {report.row_groups_left} row groups" in row_groups) == (report.row_groups_left > 0)
    assert all(abs(sum(bar.values()) - 100) < 0.1 for bar in (files, row_groups, rows))
    assert sum(int(label.split(": ")[1].split()[0].replace(",", "")) for label in rows) == report.rows == 10_000
    assert sum(int(label.split(": ")[1].split()[0].replace(",", "")) for label in row_groups) == report.row_groups == 40


def test_each_stage_that_ruled_something_out_is_in_the_legend(trips: lath.Dataset) -> None:
    report = trips.explain("started < TIMESTAMP '2025-01-10'")
    text = report._repr_html_()
    Bars(text)
    legend = text[text.index("lath-legend\">") : text.index("<details>")]
    assert report.by_statistics.row_groups > 0 and report.by_bloom_filters.rows == 0
    assert "ruled out by statistics" in legend and "Bloom" not in legend and "found" in legend
    # It works where scripts and other files are not loaded, on light and dark pages.
    assert "<script" not in text and "http" not in text
    assert "prefers-color-scheme:dark" in text and "data-jp-theme-light" in text


def test_nothing_to_draw_is_drawn_too(tmp_path: Path) -> None:
    import pyarrow as pa

    lath.write_table(pa.table({"id": pa.array([], pa.int64())}), tmp_path / "empty.parquet")
    report = lath.open(tmp_path).explain("id = 1")
    assert Bars(report._repr_html_()).bars[3] == {}

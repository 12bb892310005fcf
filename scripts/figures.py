#!/usr/bin/env python3
"""Draws the README's picture of figures, light and dark, from tables of bench/records.

    scripts/figures.py            writes docs/figures/{light,dark}.svg
    scripts/figures.py --check    says whether they are what the records say
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH, PANEL_WIDTH, BAR, STEP, LABELS, VALUES = 880, 424, 16, 24, 108, 68
# The height of a panel without its bars.
TITLE, GAP = 46, 20

THEMES = {
    "light": {"text": "#1f2328", "note": "#59636e", "lath": "#0969da", "peer": "#c4cbd3"},
    "dark": {"text": "#f0f6fc", "note": "#9198a1", "lath": "#4493f8", "peer": "#656c76"},
}

# Title, unit and direction, record, start of the heading, and the bars: name, row, and column of the table.
PANELS = [
    (
        "One key in 1,000 files, new process",
        "ms, lower is better",
        "2026-11-23-intel-xeon-finding.md",
        "## Needles",
        [(name, "fresh process, hit", column) for name, column in
         [("Lath", "Lath"), ("DuckDB", "duckdb"), ("DataFusion", "datafusion"), ("polars", "polars")]],
    ),
    (
        "Upserts, 100 rows a commit",
        "rows a second, higher is better",
        "2026-11-27-1922-amd-epyc-table.md",
        "## Keyed tables",
        [(name, "upserts of 100 a commit: rows/s", column) for name, column in
         [("Lath", "lath"), ("SQLite", "sqlite"), ("DuckDB", "duckdb")]],
    ),
    (
        "Decoding TPC-H lineitem, one thread",
        "seconds, lower is better",
        "2026-11-22-intel-xeon-avx512.md",
        "## Whole files: TPC-H lineitem",
        [(name, row, ("snappy, 1 thread", "a")) for name, row in
         [("Lath", "Lath, views"), ("DuckDB", "duckdb"), ("parquet crate", "parquet (Rust), views"),
          ("parquet-go", "parquet-go"), ("polars", "polars"), ("pyarrow", "pyarrow")]],
    ),
    (
        "22 queries of TPC-H in SQL",
        "ms, geometric mean, lower is better",
        "2026-11-26-2354-amd-epyc-sql.md",
        "## TPC-H, scale factor 1, default files",
        [(name, "**geometric mean**", column) for name, column in
         [("polars", "polars"), ("Lath", "Lath"), ("DuckDB", "duckdb"), ("DataFusion", "datafusion")]],
    ),
]


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def look_up(record, heading, row, column):
    """The number in a table below a heading: the first one of the cell. A column may be given with its table's first header."""
    table_name, column = column if isinstance(column, tuple) else (None, column)
    lines = (ROOT / "bench/records" / record).read_text().split("\n")
    start = next(at for at, line in enumerate(lines) if line.startswith(heading))
    header = None
    for line in lines[start + 1 :]:
        if line.startswith("## "):
            break
        if not line.startswith("|"):
            header = None
        elif header is None:
            header = cells(line)
        elif cells(line)[0] == row and table_name in (None, header[0]):
            return float(cells(line)[header.index(column)].split(" / ")[0])
    raise SystemExit(f"scripts/figures.py: {record} has no row '{row}' below '{heading}'")


def text(x, y, content, colour, size=13, weight=400, anchor="start"):
    return (f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" font-weight="{weight}" '
            f'text-anchor="{anchor}">{content}</text>')


def written(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.0f}" if value >= 10 else f"{value:.2f}"


def panel(left, top, theme, title, unit, record, heading, bars):
    values = [(name, look_up(record, heading, row, column)) for name, row, column in bars]
    largest, room = max(value for _, value in values), PANEL_WIDTH - LABELS - VALUES
    parts = [text(left, top + 16, title, theme["text"], 15, 600), text(left, top + 34, unit, theme["note"], 12)]
    for at, (name, value) in enumerate(values):
        y = top + TITLE + at * STEP
        colour, weight = (theme["lath"], 600) if name == "Lath" else (theme["peer"], 400)
        width = max(2, round(room * value / largest))
        parts.append(text(left + LABELS - 8, y + 12, name, theme["text"], 13, weight, "end"))
        parts.append(f'<rect x="{left + LABELS}" y="{y}" width="{width}" height="{BAR}" rx="2" fill="{colour}"/>')
        parts.append(text(left + LABELS + width + 6, y + 12, written(value), theme["text"], 13, weight))
    return parts


def picture(theme):
    parts, height = [], 0
    for pair in (PANELS[:2], PANELS[2:]):
        for at, description in enumerate(pair):
            parts += panel(at * (WIDTH - PANEL_WIDTH), height, theme, *description)
        height += TITLE + GAP + STEP * max(len(bars) for *_, bars in pair)
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            f'font-family="-apple-system, BlinkMacSystemFont, \'Segoe UI\', Helvetica, Arial, sans-serif">\n{body}\n</svg>\n')


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        raise SystemExit(__doc__)
    for name, theme in THEMES.items():
        path, drawn = ROOT / f"docs/figures/{name}.svg", picture(theme)
        if not check:
            path.write_text(drawn)
        elif path.read_text() != drawn:
            raise SystemExit(f"docs/figures/{name}.svg is not what the records say: run scripts/figures.py")


if __name__ == "__main__":
    main()

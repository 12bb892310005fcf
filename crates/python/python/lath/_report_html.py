"""The report of a scan as HTML: for files, row groups, pages and rows a bar of what each stage has ruled out, and the figures."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from lath._report import Report

#: A part of a bar: the class of its colour, its name, and its size.
_Part: TypeAlias = "tuple[str, str, int]"

#: The stages in the order in which they rule out: class, and name.
_STAGES = (
    ("partition", "partition"),
    ("statistics", "statistics"),
    ("bloom", "Bloom filters"),
    ("dictionary", "dictionaries"),
    ("index", "page index"),
)

# Colours of a light page, then of a dark one. A notebook says which it has by an attribute or a class; other pages leave it to the system.
_LIGHT = (
    "--partition:#8c6d46;--statistics:#3b75af;--bloom:#d9772b;--dictionary:#4c9450;--index:#8a64a8;"
    "--left:#c9ced6;--found:#c8323c;--line:#d5d9df;--faint:#68707c"
)
_DARK = (
    "--partition:#b8976c;--statistics:#6ba3db;--bloom:#f0a062;--dictionary:#79bd7c;--index:#b592d1;"
    "--left:#545b66;--found:#f2666e;--line:#3d434c;--faint:#9aa3af"
)
_STYLE = f"""<style>
.lath-report{{{_LIGHT};max-width:60em;font-size:.9em;line-height:1.4}}
@media (prefers-color-scheme:dark){{.lath-report{{{_DARK}}}}}
[data-jp-theme-light="true"] .lath-report,.vscode-light .lath-report,html[theme="light"] .lath-report{{{_LIGHT}}}
[data-jp-theme-light="false"] .lath-report,.vscode-dark .lath-report,html[theme="dark"] .lath-report{{{_DARK}}}
.lath-report .lath-rows{{display:grid;grid-template-columns:max-content 1fr max-content;gap:.45em .9em;align-items:center}}
.lath-report .lath-bar{{display:flex;height:1.1em;border-radius:3px;overflow:hidden;background:var(--line)}}
.lath-report .lath-bar i{{display:block;min-width:2px}}
.lath-report .lath-faint{{color:var(--faint)}}
.lath-report .lath-legend{{display:flex;flex-wrap:wrap;gap:.2em 1.1em;margin:.7em 0}}
.lath-report .lath-legend i{{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.4em}}
.lath-report table{{border-collapse:collapse;font-variant-numeric:tabular-nums}}
.lath-report th,.lath-report td{{padding:.1em .7em;text-align:right;border-bottom:1px solid var(--line);background:none}}
.lath-report th:first-child{{text-align:left;font-weight:normal}}
</style>"""


def render(report: Report, head: Sequence[str], figures: Iterable[Sequence[str]], last_line: str) -> str:
    """The report; ``head``, ``figures`` and ``last_line`` are those of its text."""
    pruned = (report.by_statistics, report.by_bloom_filters, report.by_dictionaries, report.by_page_index)
    stages = list(zip(_STAGES[1:], pruned))
    page_count = sum(stage.pages for stage in pruned)
    bars: list[tuple[str, list[_Part], str]] = [
        (
            "files",
            [(*_STAGES[0], report.files_pruned), ("left", "left", report.files - report.files_pruned)],
            f"{report.files_opened:,} of {report.files:,} opened",
        ),
        (
            "row groups",
            [(*name, stage.row_groups) for name, stage in stages] + [("left", "left", report.row_groups_left)],
            f"{report.row_groups_left:,} of {report.row_groups:,} left",
        ),
        # The number of all pages is not known: their headers are not read for that.
        (
            "pages",
            [(*name, stage.pages) for name, stage in stages],
            f"{page_count:,} ruled out",
        ),
        (
            "rows",
            [
                *((*name, stage.rows) for name, stage in stages),
                ("left", "left, not found", max(report.rows_left - report.rows_found, 0)),
                ("found", "found", report.rows_found),
            ],
            f"{report.rows_found:,} of {report.rows:,} found",
        ),
    ]
    drawn = {colour for _, parts, _ in bars for colour, _, count in parts if count}
    colours = [*((colour, f"ruled out by {name}") for colour, name in _STAGES), ("left", "left"), ("found", "found")]
    legend = "".join(
        f'<span><i style="background:var(--{colour})"></i>{name}</span>' for colour, name in colours if colour in drawn
    )
    body = "".join(_table_row("td", cells) for cells in figures)
    table = f"<table><thead>{_table_row('th', head)}</thead><tbody>{body}</tbody></table>"
    return (
        f'{_STYLE}<div class="lath-report"><div class="lath-rows">{"".join(_bar(*bar) for bar in bars)}</div>'
        f'<div class="lath-legend">{legend}</div><details><summary>Figures</summary>{table}</details>'
        f'<div class="lath-faint">{html.escape(last_line)}</div></div>'
    )


def _bar(name: str, parts: Sequence[_Part], figure: str) -> str:
    drawn = [part for part in parts if part[2] > 0]
    total = sum(count for _, _, count in drawn)
    segments = "".join(
        f'<i style="width:{100 * count / total:.2f}%;background:var(--{colour})" title="{label}: {count:,} {name}"></i>'
        for colour, label, count in drawn
    )
    label = ", ".join(f"{label} {count:,}" for _, label, count in drawn) or "none"
    return (
        f'<span>{name}</span><div class="lath-bar" role="img" aria-label="{name}: {label}">{segments}</div>'
        f'<span class="lath-faint">{figure}</span>'
    )


def _table_row(tag: str, cells: Sequence[str]) -> str:
    name, *figures = (html.escape(cell) for cell in cells)
    return f"<tr><th>{name}</th>{''.join(f'<{tag}>{cell}</{tag}>' for cell in figures)}</tr>"

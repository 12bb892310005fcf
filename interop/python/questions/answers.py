"""Compares answers by value: numbers of any type, dates as moments, intervals by length."""

import datetime
import decimal
import math

import pyarrow as pa

MONTH, DAY = 30 * 86_400_000_000, 86_400_000_000


def plain(value):
    """A value as one of few types: numbers are decimals or floats, dates are moments."""
    if isinstance(value, bool):
        return decimal.Decimal(int(value))
    if isinstance(value, int):
        return decimal.Decimal(value)
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, datetime.date):
        return datetime.datetime.combine(value, datetime.time())
    if isinstance(value, pa.MonthDayNano):
        return datetime.timedelta(microseconds=value.months * MONTH + value.days * DAY + value.nanoseconds // 1000)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


def same(one, other):
    """Whether plain values are equal: floats nearly, all others exactly."""
    if one is None or other is None:
        return one is other
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, (float, decimal.Decimal)) and isinstance(other, (float, decimal.Decimal)):
        if isinstance(one, float) or isinstance(other, float):
            one, other = float(one), float(other)
            return one == other or (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-6, abs_tol=2e-6)
        return one == other
    return one == other


def place(row):
    """Where a row goes in an order that both answers have."""

    def word(value):
        if value is None:
            return (0, "")
        if isinstance(value, (float, decimal.Decimal)):
            number = float(value)
            return (1, f"{number:.6f}" if abs(number) > 5e-7 else "0.000000")
        return (2, repr(value))

    return [word(value) for value in row]


def difference(one, other, ordered):
    """What differs first between two answers; none if they are the same."""
    one, other = ([plain(list(row)) for row in rows] for rows in (one, other))
    if not ordered:
        one, other = sorted(one, key=place), sorted(other, key=place)
    if len(one) != len(other):
        return f"{len(one)} rows {shown(one)}, and {len(other)} {shown(other)}"
    for left, right in zip(one, other):
        if not same(left, right):
            return f"row {shown([left])}, and {shown([right])}"
    return None


def shown(rows):
    def word(value):
        return f"{value:f}" if isinstance(value, decimal.Decimal) else "NULL" if value is None else str(value)

    return "; ".join("(" + ", ".join(map(word, row)) + ")" for row in rows[:4]) + ("; …" if len(rows) > 4 else "")

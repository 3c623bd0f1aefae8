"""Encodes values as JSON text."""

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import pathlib
import uuid

_encoder = json.JSONEncoder
_TEXTS = (decimal.Decimal, fractions.Fraction, uuid.UUID, pathlib.PurePath)
_TIMES = (datetime.datetime, datetime.date, datetime.time)
_LISTS = (collections.deque, range, type({}.keys()), type({}.values()), type({}.items()))


def _ordered(values):
    # Sets have no order. Sorted where possible, so that equal sets produce equal JSON.
    try:
        return sorted(values)
    except TypeError:
        return list(values)


def _known(value):
    if isinstance(value, _TIMES):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, (set, frozenset)):
        return _ordered(value)
    if isinstance(value, _TEXTS):
        return str(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, _LISTS):
        return list(value)
    return NotImplemented


def _plain(value):
    """Returns a JSON-compatible replacement for a value."""
    known = _known(value)
    if known is not NotImplemented:
        return known
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if not isinstance(value, type):
        # Models of pydantic; arrays and numbers of numpy.
        for method in ("model_dump", "tolist"):
            convert = getattr(value, method, None)
            if callable(convert):
                return convert()
    raise TypeError(f"a value of the type {type(value).__name__} has no JSON")


def to_json(value):
    """Returns the JSON text of a value. Raises ValueError, TypeError or RecursionError if it has none."""
    return _encoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode(value)

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

_JSONEncoder = json.JSONEncoder
_STRING_TYPES = (decimal.Decimal, fractions.Fraction, uuid.UUID, pathlib.PurePath)
_TIME_TYPES = (datetime.datetime, datetime.date, datetime.time)
_LIST_TYPES = (collections.deque, range, type({}.keys()), type({}.values()), type({}.items()))


def _to_list(values):
    # Sets have no order. The list is sorted if possible, so that equal sets produce equal JSON.
    try:
        return sorted(values)
    except TypeError:
        return list(values)


def _convert_standard(value):
    if isinstance(value, _TIME_TYPES):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, (set, frozenset)):
        return _to_list(value)
    if isinstance(value, _STRING_TYPES):
        return str(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, _LIST_TYPES):
        return list(value)
    return NotImplemented


def _to_json_compatible(value):
    """Returns a JSON-compatible replacement for a value."""
    converted = _convert_standard(value)
    if converted is not NotImplemented:
        return converted
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if not isinstance(value, type):
        # Models of pydantic; arrays and numbers of numpy.
        for method in ("model_dump", "tolist"):
            convert = getattr(value, method, None)
            if callable(convert):
                return convert()
    raise TypeError(f"a value of the type {type(value).__name__} cannot be represented as JSON")


def to_json(value):
    """Returns the JSON text of a value. Raises ValueError, TypeError or RecursionError if it cannot be represented as JSON."""
    return _JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_to_json_compatible).encode(value)

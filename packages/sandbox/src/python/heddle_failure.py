"""Describes an error of a job's code for the host."""

import json

import heddle_source

_MAX_TEXT_CHARS = 8_000
_MAX_NAME_CHARS = 100
_MAX_FRAMES = 50
_MEMORY_HINT = "the memory of the interpreter is used up"
_UNREADABLE = "the error cannot be read"

_dumps = json.dumps


def _text(read, max_chars):
    """Returns the beginning of the string that read() returns, or "" if it raises.

    Reading an error runs code of its class, which may raise or return a str subclass."""
    try:
        return str.__getitem__(str(read()), slice(max_chars))
    except BaseException:
        return ""


def _frames(error):
    """Returns the stack frames of the block's own code, innermost first."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == heddle_source.FILE:
            *_, start, _ = next((p for i, p in enumerate(code.co_positions()) if i == trace.tb_lasti // 2), (None,) * 4)
            name = "" if code.co_name in ("<module>", heddle_source.MAIN) else code.co_name
            position = f"{heddle_source.FILE}:{trace.tb_lineno}:{(start or 0) + 1}"
            frames.append(f"    at {name} ({position})" if name else f"    at {position}")
        trace = trace.tb_next
    return "\n".join(frames[::-1][:_MAX_FRAMES])


def _message(error):
    if isinstance(error, SystemExit):
        return f"the code ended itself with the exit code {_text(lambda: error.code, _MAX_NAME_CHARS)}"
    text = _text(lambda: error.msg if isinstance(error, SyntaxError) else error, _MAX_TEXT_CHARS)
    return text or (_MEMORY_HINT if isinstance(error, MemoryError) else "")


def _phase(phase, error):
    """Returns the phase; `module` for a missing module, so that the host reports MODULE_NOT_IN_IMAGE."""
    return "module" if phase == "run" and type(error) is ModuleNotFoundError and error.name else phase


def _to_json(phase, error):
    fields = {
        "phase": _phase(phase, error),
        "index": 0,
        "name": _text(lambda: type(error).__name__, _MAX_NAME_CHARS),
        "message": _message(error),
        "stack": _frames(error),
    }
    if isinstance(error, SyntaxError) and error.filename == heddle_source.FILE:
        fields |= {key: value for key, value in (("line", error.lineno), ("column", error.offset)) if value}
    return _dumps(fields)


def describe(phase, error):
    """Returns the error as JSON text. Never raises, since nothing could report that."""
    try:
        return _to_json(phase, error)
    except BaseException:
        return _dumps({"phase": phase, "index": 0, "name": "Error", "message": _UNREADABLE, "stack": ""})

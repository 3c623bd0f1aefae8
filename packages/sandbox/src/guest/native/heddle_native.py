"""Runs the Python of a job in a CPython of its own, and gives its result."""

import asyncio
import builtins
import inspect
import json
import os
import sys
import types

import heddle_source
from heddle_values import to_json

_JOB = "/run/heddle/job.json"
_RESULT_FD = 3
_TEXT = 8_000
_NAME = 100
_FRAMES = 50
_RESULT = "_result__"


def _send(answer):
    with os.fdopen(_RESULT_FD, "w", encoding="utf-8") as pipe:
        json.dump(answer, pipe)


def _text(make, most):
    try:
        return str(make())[:most]
    except BaseException:
        return ""


def _frames(error):
    """The frames of the block's own code, the innermost first, as lines of a stack."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == heddle_source.FILE:
            places = list(code.co_positions())
            column = places[trace.tb_lasti // 2][2] if trace.tb_lasti // 2 < len(places) else None
            place = f"{heddle_source.FILE}:{trace.tb_lineno}:{(column or 0) + 1}"
            inner = code.co_name not in ("<module>", heddle_source.MAIN)
            frames.append(f"    at {code.co_name} ({place})" if inner else f"    at {place}")
        trace = trace.tb_next
    return "\n".join(frames[::-1][:_FRAMES])


def _message(error):
    if isinstance(error, SystemExit):
        return f"the code ended itself with the exit code {_text(lambda: error.code, _NAME)}"
    return _text(lambda: error.msg if isinstance(error, SyntaxError) else error, _TEXT)


def _failure(phase, error):
    if phase == "run" and isinstance(error, ModuleNotFoundError):
        phase = "module"
    fields = {
        "phase": phase,
        "index": 0,
        "name": type(error).__name__[:_NAME],
        "message": _message(error),
        "stack": _frames(error),
    }
    if isinstance(error, SyntaxError) and error.filename == heddle_source.FILE:
        fields |= {key: value for key, value in (("line", error.lineno), ("column", error.offset)) if value}
    return {"error": fields}


def _run(code, namespace):
    """Runs the module to its value."""
    if heddle_source.is_coroutine(code):
        asyncio.run(_awaited(eval(code, namespace)))
    else:
        exec(code, namespace)
    main = namespace.pop(heddle_source.MAIN, None)
    if main is not None:
        returned = main()
        is_own = main.__code__.co_flags & inspect.CO_COROUTINE
        return asyncio.run(_awaited(returned)) if is_own else returned
    for name in reversed(namespace):
        if name.startswith("__") and name.endswith(_RESULT):
            return namespace[name]
    return None


async def _awaited(coroutine):
    return await coroutine


def _answer(job):
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    namespace = vars(module)
    given = {name: json.loads(text) for name, text in (job["globals"] | job["values"]).items()}
    namespace.update(__builtins__=builtins, json=json, os=os, **given)
    try:
        code = heddle_source.compile_source(job["code"])
    except BaseException as error:
        return _failure("compile", error)
    try:
        value = _run(code, namespace)
    except BaseException as error:
        return _failure("run", error)
    try:
        return {"json": to_json(value)}
    except BaseException as error:
        return _failure("result", error)


def main():
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace", line_buffering=True)
    with open(_JOB, encoding="utf-8") as file:
        job = json.load(file)
    sys.argv[:] = [heddle_source.FILE]
    answer = _answer(job)
    sys.stdout.flush()
    _send(answer)
    # Threads that the code left behind do not keep the job.
    os._exit(0)


main()

"""Runs a job's Python code in a separate CPython process and writes its result."""

import asyncio
import builtins
import inspect
import json
import os
import sys
import types

import heddle_failure
import heddle_source
from heddle_values import to_json

_JOB = "/run/heddle/job.json"
_RESULT_FD = 3
_RESULT_SUFFIX = "_result__"


def _send(message):
    # "D" and the value, or "E" and the error, as JSON; the codes are those of guest messages (child/bridge.ts).
    # Lone surrogates, which UTF-8 cannot encode, are written as JSON escapes.
    with os.fdopen(_RESULT_FD, "w", encoding="utf-8", errors="backslashreplace") as pipe:
        pipe.write(message)


def _failure(phase, error):
    return "E" + heddle_failure.describe(phase, error)


def _run(code, namespace):
    """Runs the module and returns its value."""
    if heddle_source.is_coroutine(code):
        asyncio.run(_await(eval(code, namespace)))
    else:
        exec(code, namespace)
    main = namespace.pop(heddle_source.MAIN, None)
    if main is not None:
        result = main()
        is_async = main.__code__.co_flags & inspect.CO_COROUTINE
        return asyncio.run(_await(result)) if is_async else result
    for name in reversed(namespace):
        if name.startswith("__") and name.endswith(_RESULT_SUFFIX):
            return namespace[name]
    return None


async def _await(coroutine):
    return await coroutine


def _run_job(job):
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    namespace = vars(module)
    inputs = {name: json.loads(text) for name, text in (job["globals"] | job["values"]).items()}
    namespace.update(__builtins__=builtins, json=json, os=os, **inputs)
    try:
        code = heddle_source.compile_source(job["code"])
    except BaseException as error:
        return _failure("compile", error)
    try:
        value = _run(code, namespace)
    except BaseException as error:
        return _failure("run", error)
    try:
        return "D" + to_json(value)
    except BaseException as error:
        return _failure("result", error)


def main():
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace", line_buffering=True)
    with open(_JOB, encoding="utf-8") as file:
        job = json.load(file)
    sys.argv[:] = [heddle_source.FILE]
    message = _run_job(job)
    sys.stdout.flush()
    _send(message)
    # Does not wait for threads that the code left running.
    os._exit(0)


main()

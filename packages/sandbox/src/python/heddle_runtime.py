"""Runs jobs: executes a block's code as the module __main__ and returns its result as JSON text."""

import asyncio
import builtins
import json
import logging
import os
import random
import shutil
import sys
import traceback
import types
import warnings

import heddle_failure
import heddle_http
import heddle_source
import heddle_streams
import heddle_sync
from heddle_values import to_json

HOME = "/home/user"

_bridge = None
_initial_state = None
_loads = json.loads


class _InitialState:
    """The state that each job starts with. It is restored at the start of a job."""

    def __init__(self):
        self.builtins = dict(vars(builtins))
        self.environ = dict(os.environ)
        self.path = list(sys.path)
        self.filters = list(warnings.filters)

    def restore(self):
        names = builtins.__dict__
        if names != self.builtins:
            names.clear()
            names.update(self.builtins)
        if os.environ != self.environ:
            os.environ.clear()
            os.environ.update(self.environ)
        sys.path[:] = self.path
        sys.argv[:] = [heddle_source.FILE]
        warnings.filters[:] = self.filters
        logging.root.handlers.clear()
        logging.root.setLevel(logging.WARNING)
        sys.stdout, sys.stderr = heddle_streams.stdout, heddle_streams.stderr
        for folder in (HOME, "/tmp"):
            for entry in os.scandir(folder):
                shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)
        os.chdir(HOME)


def connect(bridge):
    """Connects the restored interpreter to its realm, and reseeds random numbers so that they do not repeat."""
    global _bridge, _initial_state
    _bridge = bridge
    heddle_streams.line_splitter.print = bridge.print
    heddle_sync.connect(bridge)
    random.seed()
    os.makedirs(HOME, exist_ok=True)
    os.makedirs("/tmp", exist_ok=True)
    _initial_state = _InitialState()


def _values(args, index):
    """Returns the named JSON values whose count is at `index`, decoded, and the index after them."""
    end = index + 1 + 2 * int(args[index])
    return {args[i]: _loads(args[i + 1]) for i in range(index + 1, end, 2)}, end


def start(*args):
    """Runs one job. Its arguments are the globals, one unit of code, and the values of the unit."""
    heddle_streams.line_splitter.begin()
    _initial_state.restore()
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    namespace = vars(module)
    global_values, index = _values(args, 0)
    source = args[index + 1]
    unit_values, _ = _values(args, index + 2)
    namespace.update(__builtins__=builtins, json=json, os=os, **global_values, **unit_values)
    try:
        code = heddle_source.compile_source(source)
    except BaseException as error:
        return _fail("compile", error)
    try:
        coroutine = _run(code, namespace)
    except BaseException as error:
        return _fail("run", error)
    if coroutine is None:
        return _finish(namespace, _result(namespace))
    task = asyncio.Task(coroutine, loop=asyncio.get_event_loop(), eager_start=True)
    task.add_done_callback(lambda task: _settle(task, namespace)) if not task.done() else _settle(task, namespace)


def _run(code, namespace):
    """Runs the module. Returns a coroutine if it has to be awaited."""
    if heddle_source.is_coroutine(code):
        return _await_module(eval(code, namespace), namespace)
    exec(code, namespace)
    main = namespace.pop(heddle_source.MAIN, None)
    if main is None:
        return None
    result = main()
    if asyncio.iscoroutine(result) and main.__code__.co_flags & 0x80:
        return result
    namespace[_RESULT_NAME] = result
    return None


_RESULT_NAME = "__heddle_result__"


async def _await_module(coroutine, namespace):
    await coroutine
    return _result(namespace)


def _result(namespace):
    """Returns the value of the module's last name of the form __…_result__, or None."""
    for name in reversed(namespace):
        if name.startswith("__") and name.endswith("_result__"):
            return namespace[name]
    return None


def _settle(task, namespace):
    try:
        value = task.result()
    except BaseException as error:
        return _fail("run", error)
    _finish(namespace, value)


def _finish(namespace, value):
    try:
        text = to_json(value)
    except BaseException as error:
        return _fail("result", error)
    _close()
    _bridge.succeed(text)


def _close():
    """Ends the job's output. Excludes the interpreter from later use if the job left tasks running."""
    heddle_streams.line_splitter.end()
    sys.modules.pop("__main__", None)
    if asyncio.all_tasks(asyncio.get_event_loop()):
        _bridge.taint()


def _free_memory(error):
    """Frees the block's objects, so that there is memory to report the error. Excludes the interpreter from later jobs."""
    _bridge.taint()
    traceback.clear_frames(error.__traceback__)
    main = sys.modules.get("__main__")
    if type(main) is types.ModuleType:
        vars(main).clear()


def _fail(phase, error):
    if phase != "compile" and issubclass(type(error), MemoryError):
        phase = "memory"
        _free_memory(error)
    text = heddle_failure.describe(phase, error)
    _close()
    _bridge.fail(text)

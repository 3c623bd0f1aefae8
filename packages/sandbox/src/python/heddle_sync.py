"""Blocking operations: sleeping, host calls, and event loops that run to completion."""

import asyncio
import json
import time
from asyncio import base_events

from pyodide.webloop import WebLoop

_bridge = None
_MAX_PREFIX_CHARS = 32


def connect(bridge):
    global _bridge
    _bridge = bridge
    time.sleep = sleep
    asyncio.run = asyncio.runners.run = run
    WebLoop.run_until_complete = run_until_complete


def sleep(seconds):
    """Replaces time.sleep; uses no processor time."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    _bridge.sleep(float(seconds) * 1000)


class HostError(OSError):
    """The host refused an operation, or the operation failed."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def call(op, head, body=None):
    """Returns the host's answer to an operation, as an object and bytes. Raises HostError."""
    answer = _bridge.call(op, json.dumps(head), None if body is None else body.decode("latin-1"))
    ok, start = answer[0] == "+", answer.index(":", 0, _MAX_PREFIX_CHARS) + 1
    end = start + int(answer[1 : start - 1])
    fields = json.loads(answer[start:end])
    if not ok:
        raise HostError(fields.get("code"), fields.get("message"))
    return fields, answer[end:].encode("latin-1")


class _Selector:
    """Only waits for time to pass: there are no files to wait for."""

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError(
                "The event loop waits for something that cannot happen inside asyncio.run(); use await at the top level of the code instead."
            )
        if timeout > 0:
            sleep(timeout)
        return []

    def close(self):
        pass


class BlockingLoop(base_events.BaseEventLoop):
    """The loop of asyncio.run(), which blocks until it is done."""

    def __init__(self):
        super().__init__()
        self._selector = _Selector()

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass

    async def shutdown_default_executor(self, timeout=None):
        pass

    def run_in_executor(self, executor, func, *args):
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except BaseException as error:
            future.set_exception(error)
        return future


def run(main, *, debug=None, loop_factory=None):
    """Replaces asyncio.run; returns the coroutine's result."""
    outer_loop = asyncio._get_running_loop()
    task = asyncio.current_task(outer_loop) if outer_loop is not None else None
    if task is not None:
        asyncio.tasks._leave_task(outer_loop, task)
    asyncio._set_running_loop(None)
    try:
        with asyncio.Runner(debug=debug, loop_factory=loop_factory or BlockingLoop) as runner:
            return runner.run(main)
    finally:
        asyncio._set_running_loop(outer_loop)
        if task is not None:
            asyncio.tasks._enter_task(outer_loop, task)


def run_until_complete(loop, future):
    """Runs a coroutine on a new event loop and returns its result. Tasks of the interpreter's loop cannot be awaited this way."""
    if asyncio.iscoroutine(future):
        return run(future)
    if future.done():
        return future.result()
    raise RuntimeError("run_until_complete() takes coroutines here; use await at the top level of the code for tasks and futures.")

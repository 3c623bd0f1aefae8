"""Loads the modules of an image as a run would."""

import importlib
import sys
import traceback

# Imported before packages can replace them.
from json import dumps, loads


def touch(module):
    """Reads every exported name: some packages import most of their modules only then."""
    for name in getattr(module, "__all__", ()):
        try:
            getattr(module, name)
        except BaseException:
            # Only this name is missing, and code that uses it will get the error.
            continue


def main(names):
    """Imports modules. Returns as JSON all loaded modules in load order, and the ones that failed."""
    initial_modules = set(sys.modules)
    failures = []
    for name in loads(names):
        try:
            touch(importlib.import_module(name))
        except BaseException as error:
            message = f"{type(error).__name__}: {error}"
            stack = "".join(traceback.format_exception(error, limit=-8))
            failures.append({"module": name, "message": message[:1_000], "stack": stack[-2_000:]})
    return dumps({"order": [name for name in sys.modules if name not in initial_modules], "failed": failures})

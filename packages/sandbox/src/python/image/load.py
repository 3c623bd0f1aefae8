"""Loads the modules of an image as a run would."""

import importlib
import sys
import traceback

# Taken before packages can replace them.
from json import dumps, loads


def touch(module):
    """Gets what a module offers: some import the better part of themselves only then."""
    for name in getattr(module, "__all__", ()):
        try:
            getattr(module, name)
        except BaseException:
            # Not what was asked for: code that needs this name will see why it cannot have it.
            continue


def main(names):
    """Imports modules; gives everything that got loaded, in order, and what could not be, as JSON."""
    before = set(sys.modules)
    failed = []
    for name in loads(names):
        try:
            touch(importlib.import_module(name))
        except BaseException as error:
            message = f"{type(error).__name__}: {error}"
            stack = "".join(traceback.format_exception(error, limit=-8))
            failed.append({"module": name, "message": message[:1_000], "stack": stack[-2_000:]})
    return dumps({"order": [name for name in sys.modules if name not in before], "failed": failed})

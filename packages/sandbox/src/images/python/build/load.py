"""Loads the modules of an image as a run would."""

import importlib
import json
import sys
import traceback


def main(names):
    """Imports modules; gives everything that got loaded, in order, and what could not be, as JSON."""
    before = set(sys.modules)
    failed = []
    for name in json.loads(names):
        try:
            importlib.import_module(name)
        except BaseException as error:
            message = f"{type(error).__name__}: {error}"
            stack = "".join(traceback.format_exception(error, limit=-8))
            failed.append({"module": name, "message": message[:1_000], "stack": stack[-2_000:]})
    return json.dumps({"order": [name for name in sys.modules if name not in before], "failed": failed})

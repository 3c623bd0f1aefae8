"""Installs Heddle's own modules in the interpreter whose memory becomes the snapshot."""

import sys
from importlib.machinery import ModuleSpec, PathFinder

from _pyodide._importhook import jsfinder

# Imported in advance, so that blocks get the most common modules at no cost.
PREIMPORTED_MODULES = (
    "asyncio base64 bisect collections copy csv dataclasses datetime decimal email.message enum fractions functools "
    "hashlib heapq hmac html http.client http.cookies inspect io itertools json logging math operator os pathlib pprint random re "
    "secrets shutil statistics string struct tempfile textwrap time traceback types typing unicodedata "
    "urllib.error urllib.parse urllib.request uuid warnings zlib zoneinfo"
).split()


class SourceFinder:
    """Finds modules whose code is in memory, because a snapshot contains no files."""

    def __init__(self, sources):
        self.code_objects = {name: compile(source, f"<{name}>", "exec") for name, source in sources.items()}

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self) if name in self.code_objects else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(self.code_objects[module.__name__], module.__dict__)


def install(sources):
    """Makes the modules of a JSON object (name: source) importable, and preimports modules that blocks use."""
    import importlib
    import json

    sources = json.loads(sources)
    # Our modules come before the file-based finders, so that no package can replace them. Our stand-ins for libraries
    # come after those finders.
    own_sources = {name: source for name, source in sources.items() if name.startswith("heddle_")}
    sys.meta_path.insert(0, SourceFinder(own_sources))
    # Otherwise JavaScript modules are found last, and a package named js would replace them.
    sys.meta_path.remove(jsfinder)
    sys.meta_path.insert(0, jsfinder)
    stand_ins = {name: source for name, source in sources.items() if name not in own_sources}
    sys.meta_path.insert(sys.meta_path.index(PathFinder) + 1, SourceFinder(stand_ins))
    # Before urllib.request, which checks for HTTPS only once.
    importlib.import_module("heddle_http").install()
    for name in PREIMPORTED_MODULES:
        importlib.import_module(name)
    importlib.import_module("heddle_runtime")

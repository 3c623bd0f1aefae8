"""Compiles the sources of an image without running them."""

import importlib.util
import json
import os
import zipfile
from importlib._bootstrap_external import _code_to_hash_pyc


def main(request):
    """Writes the compiled files to an archive. Returns as JSON the paths of files that do not compile."""
    root, target = json.loads(request)
    failed = []
    with zipfile.ZipFile(target, "w") as archive:
        for folder, _, names in os.walk(root):
            for name in names:
                path = os.path.join(folder, name)
                relative = path[len(root) + 1 :]
                with open(path, "rb") as file:
                    source = file.read()
                try:
                    code = compile(source, path, "exec", dont_inherit=True)
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    failed.append(relative)
                    continue
                # Unchecked hash-based: valid regardless of file times.
                compiled = _code_to_hash_pyc(code, importlib.util.source_hash(source), False)
                archive.writestr(zipfile.ZipInfo(relative + "c"), compiled)
    return json.dumps(failed)

"""Compiles the sources of an image without running them."""

import importlib.util
import json
import os
import zipfile
from importlib._bootstrap_external import _code_to_hash_pyc


def main(request):
    """Writes the compiled files to an archive. Returns as JSON the paths of files that do not compile."""
    root, archive_path = json.loads(request)
    failed_paths = []
    with zipfile.ZipFile(archive_path, "w") as archive:
        for folder, _, names in os.walk(root):
            for name in names:
                path = os.path.join(folder, name)
                relative_path = path[len(root) + 1 :]
                with open(path, "rb") as file:
                    source = file.read()
                try:
                    code = compile(source, path, "exec", dont_inherit=True)
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    failed_paths.append(relative_path)
                    continue
                # Unchecked hash-based: valid regardless of file times.
                pyc = _code_to_hash_pyc(code, importlib.util.source_hash(source), False)
                archive.writestr(zipfile.ZipInfo(relative_path + "c"), pyc)
    return json.dumps(failed_paths)

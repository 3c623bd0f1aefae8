"""Imports the modules of an image whose state may be in a snapshot of the interpreter's memory."""

import builtins
import ctypes
import importlib
import importlib.machinery
import os
import random
import sys

import _ctypes

# Imported before packages can replace them.
from json import dumps, loads


class NotInSnapshot(BaseException):
    """Not an Exception, because packages that catch exceptions would keep a fallback in the snapshot permanently."""


def refuse_with(reason):
    """Returns a function that raises NotInSnapshot."""

    def refuse(*_):
        raise NotInSnapshot(reason)

    return refuse


def install_guards():
    """Makes operations fail if their results must not be in a snapshot. Returns a function that undoes this."""
    dlopen, seed, original_import = _ctypes.dlopen, random.Random.seed, builtins.__import__

    def guarded_dlopen(name, *rest):
        # The interpreter's own symbols are available before and after the restore.
        return refuse_library() if name else dlopen(name, *rest)

    def guarded_seed(self, a=None, version=2):
        # A generator without a seed is allowed, because it is reseeded when a run starts. Taking numbers from it before
        # that is refused.
        if a is None:
            random.heddle_generators.append(self)
        seed(self, a, version)

    def guarded_import(name, *rest):
        # After the restore, the interpreter is in a different realm.
        return refuse_realm() if name.partition(".")[0] in ("js", "pyodide_js") else original_import(name, *rest)

    refuse_library = refuse_with("a native library")
    refuse_realm = refuse_with("JavaScript")
    refuse_randomness = refuse_with("random numbers")
    guards = (
        (importlib.machinery.ExtensionFileLoader, "create_module", refuse_library),
        (_ctypes, "dlopen", guarded_dlopen),
        (ctypes, "_dlopen", guarded_dlopen),
        (os, "urandom", refuse_randomness),
        (random, "_urandom", refuse_randomness),
        (random, "random", refuse_randomness),
        (random, "getrandbits", refuse_randomness),
        (random.Random, "random", refuse_randomness),
        (random.Random, "getrandbits", refuse_randomness),
        (random.Random, "seed", guarded_seed),
        (builtins, "__import__", guarded_import),
    )
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in guards]
    for owner, name, replacement in guards:
        setattr(owner, name, replacement)

    def remove_guards():
        for owner, name, value in originals:
            setattr(owner, name, value)

    return remove_guards


def main(names):
    """Imports modules while the guards are installed. Returns as JSON the imported ones, and the refused ones with the reason."""
    imported = []
    refused = {}
    random.heddle_generators = []
    remove_guards = install_guards()
    try:
        for name in loads(names):
            loaded = set(sys.modules)
            try:
                importlib.import_module(name)
            except BaseException as error:
                refused[name] = f"{type(error).__name__}: {error}"[:200]
                for added in [key for key in sys.modules if key not in loaded]:
                    del sys.modules[added]
            else:
                imported.append(name)
    finally:
        remove_guards()
    return dumps({"imported": imported, "refused": refused})

"""Imports the modules of an image whose state may go into a snapshot of the interpreter's memory."""

import builtins
import ctypes
import importlib
import importlib.machinery
import os
import random
import sys

import _ctypes

# Taken before packages can replace them.
from json import dumps, loads


class NotInSnapshot(BaseException):
    """No Exception: packages that catch those would go on with what they have for want of something better, for ever."""


def refusal(why):
    """A function that refuses, for a reason."""

    def refuse(*_):
        raise NotInSnapshot(why)

    return refuse


def guard():
    """Makes what has no place in a snapshot fail; gives a function that takes that back."""
    dlopen, seed, load = _ctypes.dlopen, random.Random.seed, builtins.__import__

    def guarded_dlopen(name, *rest):
        # The interpreter's own symbols are there before and after.
        return library() if name else dlopen(name, *rest)

    def guarded_seed(self, a=None, version=2):
        # A generator may be kept: it is seeded anew when a run begins. What is drawn from it before may not.
        if a is None:
            random.heddle_generators.append(self)
        seed(self, a, version)

    def guarded_import(name, *rest):
        # The realm around the interpreter is another one after the restore.
        return realm() if name.partition(".")[0] in ("js", "pyodide_js") else load(name, *rest)

    library, realm, chance = refusal("a compiled part"), refusal("JavaScript"), refusal("chance")
    guards = (
        (importlib.machinery.ExtensionFileLoader, "create_module", library),
        (_ctypes, "dlopen", guarded_dlopen),
        (ctypes, "_dlopen", guarded_dlopen),
        (os, "urandom", chance),
        (random, "_urandom", chance),
        (random, "random", chance),
        (random, "getrandbits", chance),
        (random.Random, "random", chance),
        (random.Random, "getrandbits", chance),
        (random.Random, "seed", guarded_seed),
        (builtins, "__import__", guarded_import),
    )
    saved = [(owner, name, getattr(owner, name)) for owner, name, _ in guards]
    for owner, name, guarded in guards:
        setattr(owner, name, guarded)

    def lift():
        for owner, name, value in saved:
            setattr(owner, name, value)

    return lift


def main(names):
    """Imports modules under guard; gives those that are imported, and those that are not with the reason, as JSON."""
    imported = []
    refused = {}
    random.heddle_generators = []
    lift = guard()
    try:
        for name in loads(names):
            before = set(sys.modules)
            try:
                importlib.import_module(name)
            except BaseException as error:
                refused[name] = f"{type(error).__name__}: {error}"[:200]
                for added in [key for key in sys.modules if key not in before]:
                    del sys.modules[added]
            else:
                imported.append(name)
    finally:
        lift()
    return dumps({"imported": imported, "refused": refused})

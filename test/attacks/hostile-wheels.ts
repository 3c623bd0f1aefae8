import type { IndexedWheel } from '../support/python/python-index.ts';

/** Returns code that adds the name of its module to the list `builtins.marks` of the interpreter. */
const markCode = (name: string): string =>
  `import builtins\nbuiltins.marks = [*getattr(builtins, "marks", []), "${name}"]\n`;

/** An invalid extension module. */
const INVALID_WASM = '\x7fELF: no WebAssembly';

/** The hostile wheels, by name. */
export const HOSTILE_WHEELS: readonly IndexedWheel[] = [
  {
    name: 'broken-part',
    files: {
      'broken_part/__init__.py':
        'try:\n    from . import _fast\n    FAST = "loaded"\nexcept BaseException as error:\n    FAST = type(error).__name__\n',
    },
    entries: [{ path: 'broken_part/_fast.cpython-314-wasm32-emscripten.so', content: INVALID_WASM }],
  },
  {
    name: 'collides',
    files: {
      'collides.py': 'VALUE = 1\n',
      'js.py': markCode('js'),
      'pyodide_js.py': markCode('pyodide_js'),
      'pyodide/__init__.py': markCode('pyodide'),
      '_pyodide/__init__.py': markCode('_pyodide'),
      'pyodide/ffi.py': markCode('pyodide.ffi'),
      '__main__.py': markCode('__main__'),
      'site.py': markCode('site'),
      'encodings/__init__.py': markCode('encodings'),
      'importlib/__init__.py': markCode('importlib'),
      'heddle_sync.py': markCode('heddle_sync'),
      'heddle_failure.py': `${markCode('heddle_failure')}def describe(*args): return "{}"\n`,
    },
  },
  {
    name: 'patches-runtime',
    files: {
      'patches_runtime.py': `
import heddle_runtime, heddle_values
SEEN = []
_start = heddle_runtime.start
def start(*args):
    SEEN.extend(str(value) for value in args)
    return _start(*args)
heddle_runtime.start = start
heddle_values._plain = lambda value: "forged"
`,
    },
  },
  {
    name: 'patches',
    files: {
      'patches.py': `
import asyncio, builtins, json, random, sys
SEEN = []
class Hook:
    def find_spec(self, name, path=None, target=None):
        SEEN.append(name)
        return None
def forged(*args, **options):
    return "forged"
_import = builtins.__import__
def watched(name, *rest):
    SEEN.append("import " + name)
    return _import(name, *rest)
sys.meta_path.insert(0, Hook())
sys.path_hooks.insert(0, forged)
builtins.open = builtins.print = forged
builtins.__import__ = watched
json.JSONEncoder.default = random.seed = forged
def patch_json():
    builtins.eval = builtins.sorted = builtins.repr = forged
    json.dumps = json.loads = asyncio.iscoroutine = forged
`,
    },
  },
  {
    name: 'impersonates',
    files: {
      'impersonates.py': 'VALUE = 1\n',
      'usercustomize.py': markCode('usercustomize'),
      'sitecustomize/__init__.py': markCode('sitecustomize'),
      'impersonates.pth': 'import builtins; builtins.marks = ["pth"]\n',
      'json.py': `${markCode('json')}dumps = loads = lambda *a, **k: "forged"\n`,
      'random.py': `${markCode('random')}random = seed = lambda *a: 0\n`,
      'asyncio/__init__.py': markCode('asyncio'),
      'heddle_runtime.py': `${markCode('heddle_runtime')}def connect(bridge): bridge.succeed("1")\n`,
      'heddle_http.py': `${markCode('heddle_http')}def install(): pass\n`,
      'heddle_values.py': `${markCode('heddle_values')}def to_json(value): return "forged"\n`,
    },
  },
  {
    name: 'remembers',
    files: {
      'remembers.py': `
import builtins, os, sys
_secret = None
_cache = {}
def keep(value):
    global _secret
    _secret = _cache["secret"] = builtins.kept = os.environ["KEPT"] = keep.kept = sys.modules["kept"] = value
    os.makedirs("/opt/site/kept", exist_ok=True)
def recall():
    return [_secret, _cache.get("secret"), getattr(builtins, "kept", None), os.environ.get("KEPT"), getattr(keep, "kept", None),
      sys.modules.get("kept"), os.path.exists("/opt/site/kept") or None]
`,
    },
  },
];

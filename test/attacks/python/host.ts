import type { AttackGroup } from '../attack.ts';

/** Returns code that runs these lines and returns `refused` if they raise an error. */
const attemptCode = (lines: string, setup = ''): string =>
  `${setup}\ntry:\n${lines
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')}\nexcept BaseException as e:\n  return 'refused'`;

/** The result of `PROBE_CODE` if the code reaches no global of Node.js. */
const ALL_UNDEFINED = '"undefinedundefinedundefined"';
const PROBE_CODE = 'return typeof require + typeof process + typeof module';

/** Attempts to access the isolate's JavaScript from Python, and Node.js from that JavaScript. */
export const pythonHostAttacks: AttackGroup = {
  name: 'Python: access to the host',
  language: 'python',
  attacks: [
    {
      id: 'H31',
      title: 'JavaScript’s Function through the module js',
      code: `import js\nreturn js.Function('${PROBE_CODE}')()`,
      expected: ALL_UNDEFINED,
    },
    {
      id: 'H32',
      title: 'run_js of Pyodide',
      code: "from pyodide.code import run_js\nreturn run_js('typeof require + typeof process + typeof module')",
      expected: ALL_UNDEFINED,
    },
    {
      id: 'H33',
      title: 'the interpreter’s own function to evaluate JavaScript, through ctypes',
      code: "import ctypes\nf = ctypes.CDLL(None).emscripten_run_script_string\nf.restype = ctypes.c_char_p\nreturn f(b'typeof require + typeof process + typeof module').decode()",
      expected: ALL_UNDEFINED,
    },
    {
      id: 'H34',
      title: 'constructors of JavaScript objects',
      code: "import js, pyodide_js\nout = []\nfor o in (js, js.globalThis, js.Object, pyodide_js, js.setTimeout, js.console, js.crypto):\n  try:\n    out.append(o.constructor.constructor('return typeof require + typeof process + typeof globalThis.process')())\n  except BaseException as e:\n    out.append('x')\nreturn [x for x in out if x not in ('x', 'undefinedundefinedundefined')]",
      expected: '[]',
    },
    {
      id: 'H35',
      title: 'a process',
      code: attemptCode("subprocess.run(['id'])\nreturn 'RAN'", 'import subprocess'),
      expected: '"refused"',
    },
    {
      id: 'H35b',
      title: 'a shell',
      code: "import os\ntry:\n  said = os.popen('id').read()\nexcept OSError:\n  said = ''\nreturn [os.system('id') == 0, said]",
      expected: '[false,""]',
    },
    {
      id: 'H36',
      title: 'files of the host',
      code: "import os\nseen = []\nfor p in ('/etc/passwd', '/proc/self/environ', '/proc/1/cmdline', '/root', '/home/node', '/sys/kernel', '/dev/sda', '/dist/child.cjs'):\n  try:\n    seen.append(open(p).read()[:40])\n  except OSError:\n    pass\nreturn seen",
      expected: '[]',
    },
    {
      id: 'H37',
      title: 'a mount of the host’s files',
      code: attemptCode(
        "pyodide_js.mountNodeFS('/mnt/h', '/etc')\nreturn open('/mnt/h/passwd').read()",
        'import pyodide_js',
      ),
      expected: '"refused"',
    },
    {
      id: 'H38',
      title: 'the file systems of Emscripten',
      code: attemptCode(
        "FS = pyodide_js.FS\nFS.mkdir('/h')\nFS.mount(FS.filesystems.NODEFS, {'root': '/'}, '/h')\nreturn FS.readdir('/h').to_py()",
        'import pyodide_js',
      ),
      expected: '"refused"',
    },
    {
      id: 'H38b',
      title: 'functions of the loader that read files',
      code: attemptCode(
        "return str(await pyodide_js._api.loadBinaryFile('/etc/passwd'))",
        'import pyodide_js',
      ),
      expected: '"refused"',
    },
    {
      id: 'H38c',
      title: 'globals that only the start of the interpreter needs',
      code: "import js\nreturn [n for n in ('read', 'readbuffer', 'load', 'os', '__heddle', 'process', 'require', '__loadPyodide', 'Deno', 'WebAssembly_') if hasattr(js, n)]",
      expected: '[]',
    },
    {
      id: 'H39',
      title: 'sockets of Node.js',
      code: attemptCode("await pyodide_js.useNodeSockFS()\nreturn 'ON'", 'import pyodide_js'),
      expected: '"refused"',
    },
    {
      id: 'H40',
      title: 'a connection to the internal server',
      code: attemptCode(
        "socket.create_connection(('127.0.0.1', internalPort), 2)\nreturn 'CONNECTED'",
        'import socket',
      ),
      expected: '"refused"',
    },
    {
      id: 'H41',
      title: 'import() in JavaScript',
      code: attemptCode(
        "await run_js(\"import('node:fs')\")\nreturn 'LOADED'",
        'from pyodide.code import run_js',
      ),
      expected: '"refused"',
    },
    {
      id: 'H41b',
      title: 'packages from the network, at run time',
      code: attemptCode(
        "import micropip\nawait micropip.install('http://127.0.0.1:' + str(internalPort) + '/x-1-py3-none-any.whl')\nreturn 'INSTALLED'",
      ),
      expected: '"refused"',
    },
    {
      id: 'H41c',
      title: 'packages and modules, loaded by Pyodide',
      code: attemptCode(
        "await pyodide_js.loadPackage('http://127.0.0.1:' + str(internalPort) + '/x.whl')\nimport x\nreturn 'LOADED'",
        'import pyodide_js',
      ),
      expected: '"refused"',
    },
    {
      id: 'H42',
      title: 'native code',
      code: attemptCode("ctypes.CDLL('/lib/x86_64-linux-gnu/libc.so.6')\nreturn 'LOADED'", 'import ctypes'),
      expected: '"refused"',
    },
    {
      id: 'H43',
      title: 'signals to other processes',
      code: attemptCode("os.kill(1, 9)\nreturn 'SENT'", 'import os'),
      expected: '"refused"',
    },
    {
      id: 'H44',
      title: 'a pickle that calls a shell',
      code: 'import pickle\nreturn pickle.loads(b"cposix\\nsystem\\n(S\'id\'\\ntR.") == 0',
      expected: 'false',
    },
    {
      id: 'H45',
      title: 'classes that start processes, found through object',
      code: "found = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ in ('Popen', '_wrap_close')]\nfor c in found:\n  if c.__name__ == 'Popen':\n    try:\n      c(['id']); return 'RAN'\n    except BaseException:\n      pass\nreturn 'refused'",
      expected: '"refused"',
    },
    {
      id: 'H46',
      title: 'the environment',
      code: "import os\nreturn [k for k, v in os.environ.items() if 'HEDDLE' in k or 'NODE' in k or v.startswith('env-')]",
      expected: '[]',
    },
    {
      id: 'H47',
      title: 'ending the interpreter by os._exit',
      code: 'import os\nos._exit(3)',
      expected: 'USER_ERROR',
    },
    {
      id: 'H47b',
      title: 'ending the interpreter by SystemExit',
      code: 'import sys\nsys.exit(0)',
      expected: 'USER_ERROR',
    },
    {
      id: 'H48',
      title: 'memory at an invalid address',
      code: 'import ctypes\nctypes.string_at(0xfffffff0, 8)',
      expected: 'USER_ERROR',
    },
    {
      id: 'H49',
      title: 'the interpreter’s own memory, overwritten',
      code: 'import ctypes\nctypes.memset(0x1000, 0x41, 10000000)',
      limits: { cpuMs: 1_000, wallMs: 2_000 },
      expected: [
        'USER_ERROR',
        'SANDBOX_CRASHED',
        'TIMEOUT_CPU',
        'TIMEOUT_WALL',
        'SANDBOX_PROTOCOL',
        'RESULT_NOT_SERIALIZABLE',
        'OUT_OF_MEMORY',
        'null',
      ],
    },
    {
      id: 'H50',
      title: 'the guest runtime, found in stack frames and called with forged messages',
      code: "import sys\nf = sys._getframe()\nseen = {}\nwhile f:\n  seen.update(f.f_globals)\n  f = f.f_back\nfor o in [o for k, o in seen.items() if 'bridge' in k]:\n  for n in dir(o):\n    for message in ('D\"forged\"', 'Zx', 'C1:exec:-2:{}', '{'):\n      try: getattr(o, n)(message)\n      except BaseException: pass\nreturn 1",
      expected: ['1', '"forged"', 'null', 'USER_ERROR', 'SANDBOX_PROTOCOL', 'RESULT_NOT_SERIALIZABLE'],
    },
    {
      id: 'H51',
      title: 'hand-written bytecode',
      code: "def f(): pass\nc = f.__code__\ntry:\n  g = type(f)(c.replace(co_code=bytes([0xff] * 64)), {})\n  g()\nexcept BaseException:\n  pass\nreturn 'alive'",
      limits: { cpuMs: 2_000, wallMs: 4_000 },
      expected: ['"alive"', 'USER_ERROR', 'SANDBOX_CRASHED', 'TIMEOUT_CPU', 'TIMEOUT_WALL'],
    },
    {
      id: 'H52',
      title: 'an extension module that the code has written itself',
      code: attemptCode(
        "open('/tmp/own.so', 'wb').write(bytes.fromhex('0061736d01000000') + b'x' * 64)\nspec = importlib.util.spec_from_loader('own', importlib.machinery.ExtensionFileLoader('own', '/tmp/own.so'))\nimportlib.util.module_from_spec(spec)\nreturn 'LOADED'",
        'import importlib.machinery, importlib.util',
      ),
      expected: '"refused"',
    },
    {
      id: 'H53',
      title: 'constructors of the parts of the interpreter that JavaScript can access',
      code: `import js, pyodide_js
from pyodide.ffi import create_proxy, to_js
out = []
for make in (lambda: pyodide_js._module, lambda: pyodide_js._api, lambda: pyodide_js.FS, lambda: pyodide_js.globals, lambda: create_proxy(print), lambda: to_js([print]), lambda: js.Promise.new(lambda a, b: a(1)), lambda: js.eval('(async function* () {})'), lambda: js.Reflect.construct):
  try:
    out.append(make().constructor.constructor('return typeof require + typeof process + typeof globalThis.process')())
  except BaseException as e:
    out.append('x')
return [x for x in out if x not in ('x', 'undefinedundefinedundefined')]`,
      expected: '[]',
    },
    {
      id: 'H54',
      title: 'stack switching and shared memory of WebAssembly',
      code: "from pyodide.code import run_js\nreturn run_js('typeof WebAssembly.Suspending + typeof WebAssembly.promising + typeof SharedArrayBuffer + typeof Atomics')",
      expected: '"undefinedundefinedundefinedundefined"',
    },
  ],
};

import type { AttackGroup } from '../attack.ts';

const SHORT_CPU_LIMITS = { cpuMs: 400, wallMs: 20_000 };
const FAILURES = ['USER_ERROR', 'OUT_OF_MEMORY', 'SANDBOX_CRASHED'] as const;
const PROBE_CODE = 'return typeof require + typeof process + typeof globalThis.process';
const ALL_UNDEFINED = 'undefinedundefinedundefined';

/** Returns code that evaluates several expressions, and returns the results of those that did not fail. */
const evaluateEachCode = (setup: string, expressions: readonly string[]): string => `${setup}
expressions = [${expressions.map((expression) => `lambda: ${expression}`).join(', ')}]
outcomes = []
for evaluate in expressions:
  try:
    outcomes.append(str(evaluate()))
  except BaseException as e:
    pass
return outcomes`;

/** Escapes through the interpreter's own file system, modules and tools. */
export const interpreterEscapes: AttackGroup = {
  name: 'Python: escapes through the interpreter',
  language: 'python',
  attacks: [
    {
      id: 'D01',
      title: 'files that the file system fetches when they are read',
      code: `import pyodide_js
outcomes = []
for make in ("createLazyFile", "createPreloadedFile"):
  for url in (f"http://127.0.0.1:{internalPort}/", "file:///etc/passwd", "/etc/passwd"):
    try:
      getattr(pyodide_js.FS, make)("/tmp", "lazy", url, True, False)
      outcomes.append(open("/tmp/lazy").read())
    except BaseException as e:
      pass
return outcomes`,
      expected: '[]',
    },
    {
      id: 'D02',
      title: 'devices, and file descriptors that the process inherited',
      code: evaluateEachCode('import os', [
        ...['/dev/stdin', '/dev/tty', '/dev/mem', '/dev/fd/5', '/proc/self/fd/3', '/proc/self/maps'].map(
          (path) => `open("${path}").read(9) or 1 / 0`,
        ),
        ...[3, 4, 5, 6, 7].map((fd) => `os.read(${fd}, 9)`),
        ...[3, 4, 5, 6, 7].map((fd) => `os.write(${fd}, b"x" * 9)`),
      ]),
      expected: '[]',
    },
    {
      id: 'D03',
      title: 'constructors of the functions of the bridge, and of their parts',
      code: `import heddle_runtime, heddle_sync, heddle_streams
out = []
for o in (heddle_runtime._bridge, heddle_sync._bridge, heddle_streams.line_splitter.print):
  for n in ("print", "ask", "sleep", "succeed", "fail", "spoil", "constructor", "bind", "apply", "caller", "arguments", "__proto__"):
    try:
      out.append(getattr(o, n).constructor.constructor("${PROBE_CODE}")())
    except BaseException:
      out.append("${ALL_UNDEFINED}")
return [x for x in out if x != "${ALL_UNDEFINED}"]`,
      expected: '[]',
    },
    {
      id: 'D04',
      title: 'exports and imports of the interpreter’s WebAssembly',
      code: `import pyodide_js
from pyodide.code import run_js
return run_js("""((pyodide) => { const seen = new Set(); const out = []; const look = (o, depth) => { if (o === null || !/^(object|function)$/.test(typeof o) || seen.has(o) || seen.size > 20000) return; seen.add(o);
  try { const F = o.constructor && o.constructor.constructor; if (typeof F === 'function' && F !== Function && F('${PROBE_CODE}')() !== '${ALL_UNDEFINED}') out.push('foreign') } catch {}
  if (depth > 0) for (const key of Reflect.ownKeys(o)) { try { look(o[key], depth - 1) } catch {} } };
  look(pyodide._module, 3); look(pyodide._api, 3); return seen.size > 500 ? out.join() : 'nothing to look at' })""")(pyodide_js)`,
      limits: { cpuMs: 10_000, wallMs: 20_000 },
      expected: '""',
    },
    {
      id: 'D05',
      title: 'raw bytes on the object that replaces a socket',
      code: `import http.client
outcomes = []
for text in (f"GET http://127.0.0.1:{internalPort}/ HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n", f"GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{internalPort}\\r\\n\\r\\n", f"GET / HTTP/1.1\\r\\nX: a\\r\\n b: c\\r\\n\\r\\nGET http://127.0.0.1:{internalPort}/ HTTP/1.1\\r\\n\\r\\n", f"CONNECT 127.0.0.1:{internalPort} HTTP/1.1\\r\\n\\r\\n", f"GET //127.0.0.1:{internalPort}/ HTTP/1.1\\r\\n\\r\\n", f"GET @127.0.0.1:{internalPort}/ HTTP/1.1\\r\\n\\r\\n"):
  try:
    c = http.client.HTTPConnection("ok.test", externalPort)
    c.connect()
    c.sock.sendall(text.encode())
    outcomes.append(c.sock.makefile().read().decode("latin-1"))
  except BaseException as e:
    pass
return [x for x in outcomes if "INTERNAL" in x]`,
      expected: '[]',
    },
    {
      id: 'D06',
      title: 'proxies and other protocols of urllib',
      code: `import urllib.request as r
outcomes = []
for proxy in ({"http": f"http://127.0.0.1:{internalPort}"}, {"https": f"http://127.0.0.1:{internalPort}"}, {}):
  for url in (f"http://ok.test:{externalPort}/", "https://ok.test/", "file:///etc/passwd", f"ftp://127.0.0.1:{internalPort}/x", "data:,INTERNAL"):
    try:
      outcomes.append(r.build_opener(r.ProxyHandler(proxy)).open(url, timeout=2).read().decode())
    except BaseException as e:
      pass
return sorted(set(outcomes))`,
      // `INTERNAL` is the content of the data URL; proxies are skipped.
      expected: '["INTERNAL","external"]',
    },
    {
      id: 'D07',
      title: 'servers, processes and browsers of the standard library',
      code: evaluateEachCode('import asyncio, os, socket\nloop = asyncio.get_event_loop()', [
        'socket.create_server(("127.0.0.1", 0))',
        '__import__("socketserver").TCPServer(("127.0.0.1", 0), None)',
        '__import__("multiprocessing").Process(target=print).start()',
        '__import__("concurrent.futures").futures.ProcessPoolExecutor(1).submit(print).result()',
        '__import__("webbrowser").open("http://127.0.0.1/") or 1 / 0',
        'os.posix_spawn("/bin/sh", ["sh"], {})',
        'os.execv("/bin/sh", ["sh"])',
        'os.forkpty()',
        '__import__("pty").spawn("/bin/sh")',
        'os.popen("id").read() or 1 / 0',
        '__import__("ctypes").CDLL(None).system(b"id") == 0 or 1 / 0',
        '__import__("sys").remote_exec(1, "/tmp/x.py")',
      ]),
      limits: { wallMs: 10_000 },
      expected: '[]',
    },
    {
      id: 'D08',
      title: 'a second interpreter inside the interpreter',
      code: `outcomes = []
try:
  import _interpreters
  own = _interpreters.create()
  _interpreters.exec(own, "import os; open('/tmp/inner', 'w').write(str(os.system('id')))")
  outcomes.append(open("/tmp/inner").read())
except BaseException as e:
  outcomes.append("refused")
return outcomes`,
      limits: { wallMs: 10_000 },
      expected: ['["refused"]', '["-1"]'],
    },
    ...[
      ['D09', 'a segmentation fault', 'import faulthandler\nfaulthandler._sigsegv()'],
      ['D10', 'a fatal error that the code causes', 'import ctypes\nctypes.pythonapi.Py_FatalError(b"x")'],
      ['D11', 'finalization', 'import ctypes\nctypes.pythonapi.Py_Finalize()\nreturn [1]'],
      ['D12', 'an abort', 'import os\nos.abort()'],
      [
        'D13',
        'an object whose type is not a type',
        'import ctypes\nx = [1]\nctypes.c_uint32.from_address(id(x) + 4).value = 16\nreturn x',
      ],
    ].map(([id = '', title = '', code = '']) => ({
      id,
      title: `ending the interpreter by ${title}`,
      code,
      limits: { cpuMs: 2_000, wallMs: 20_000 },
      expected: [...FAILURES, 'TIMEOUT_CPU', 'TIMEOUT_WALL', 'RESULT_NOT_SERIALIZABLE'],
    })),
    {
      id: 'D14',
      title: 'alarms and timers that continue after the job',
      earlierCode:
        'import faulthandler, signal, threading\nfor start in (lambda: signal.setitimer(signal.ITIMER_REAL, 0.01), lambda: signal.alarm(1), lambda: faulthandler.dump_traceback_later(0.01, repeat=True), lambda: threading.Timer(0.01, print).start()):\n  try: start()\n  except BaseException: pass\nreturn 1',
      code: 'import time\ntime.sleep(0.1)\nreturn 1',
      expected: '1',
      stdout: /^$/,
    },
    {
      id: 'D15',
      title: 'files that are larger than the memory',
      code: evaluateEachCode('import os\nopen("/tmp/a", "w").close()', [
        'os.truncate("/tmp/a", 2 ** 40)',
        'os.truncate("/tmp/a", 2 ** 31)',
        'os.pwrite(os.open("/tmp/a", os.O_RDWR), b"x", 2 ** 40)',
        '__import__("mmap").mmap(-1, 2 ** 31)',
      ]),
      limits: SHORT_CPU_LIMITS,
      expected: ['[]', 'TIMEOUT_CPU', ...FAILURES],
    },
    {
      id: 'D16',
      title: 'compressed data that is small until it is decompressed',
      code: `import bz2, lzma, zlib
bomb = zlib.compress(zlib.compress(bytes(10 ** 8), 9), 9)
return len(zlib.decompress(zlib.decompress(zlib.decompress(zlib.compress(bomb)))) * 9)`,
      limits: { cpuMs: 5_000, wallMs: 20_000 },
      expected: [...FAILURES, 'TIMEOUT_CPU'],
    },
    {
      id: 'D17',
      title: 'a number that is parsed from many digits',
      code: 'import sys\nsys.set_int_max_str_digits(0)\nreturn int("9" * 10 ** 7) % 7',
      limits: SHORT_CPU_LIMITS,
      expected: ['TIMEOUT_CPU', ...FAILURES],
    },
    {
      id: 'D18',
      title: 'buffers of JavaScript that no limit of the isolate counts',
      code: "from pyodide.code import run_js\nreturn run_js('const k = []; for (let i = 0; i < 64; i++) k.push(new Uint8Array(new ArrayBuffer(2 ** 28, { maxByteLength: 2 ** 28 })).fill(1)); k.length')",
      limits: { cpuMs: 10_000, wallMs: 30_000 },
      expected: [...FAILURES, 'TIMEOUT_CPU'],
    },
    {
      id: 'D19',
      title: 'the runtime’s own modules, removed while it runs',
      code: "import sys, gc\nfor n in [n for n in sys.modules if n.startswith(('heddle', 'json', 'asyncio', 'traceback'))]: sys.modules[n] = None\nsys.setrecursionlimit(40)\ngc.disable()\nsys.path[:] = []\nsys.meta_path[:] = []\nsys.stdout = sys.stderr = None\nraise ValueError('x')",
      expected: 'USER_ERROR',
    },
    {
      id: 'D20',
      title: 'callbacks that schedule callbacks endlessly',
      code: 'import asyncio\nloop = asyncio.get_event_loop()\ndef again(): loop.call_soon(again)\nagain()\nawait asyncio.sleep(1e6)',
      limits: SHORT_CPU_LIMITS,
      expected: ['TIMEOUT_CPU', 'BRIDGE_LIMIT'],
    },
  ],
};

import type { AttackGroup } from '../attack.ts';

const SHORT_CPU_LIMITS = { cpuMs: 300, wallMs: 20_000 };
const FAILURES = ['USER_ERROR', 'OUT_OF_MEMORY', 'SANDBOX_CRASHED'] as const;

/** Python code that never ends, or exceeds a limit. */
export const pythonExhaustionAttacks: AttackGroup = {
  name: 'Python: exhaustion',
  language: 'python',
  attacks: [
    {
      id: 'R40',
      title: 'a loop',
      code: 'while True: pass',
      limits: SHORT_CPU_LIMITS,
      expected: 'TIMEOUT_CPU',
    },
    {
      id: 'R41',
      title: 'a loop that catches everything',
      code: 'while True:\n  try:\n    while True: pass\n  except BaseException:\n    pass',
      limits: SHORT_CPU_LIMITS,
      expected: 'TIMEOUT_CPU',
    },
    {
      id: 'R42',
      title: 'a long sleep',
      code: 'import time\ntime.sleep(1e9)',
      limits: { cpuMs: 5_000, wallMs: 300 },
      expected: 'TIMEOUT_WALL',
    },
    {
      id: 'R43',
      title: 'an endless await',
      code: 'import asyncio\nawait asyncio.sleep(1e6)',
      limits: { cpuMs: 5_000, wallMs: 300 },
      expected: 'TIMEOUT_WALL',
    },
    {
      id: 'R44',
      title: 'a loop in a C function of the interpreter',
      code: 'import itertools\nsum(itertools.repeat(1))',
      limits: SHORT_CPU_LIMITS,
      expected: 'TIMEOUT_CPU',
    },
    {
      id: 'R45',
      title: 'a regular expression that backtracks',
      code: 'import re\nre.match("(a+)+$", "a" * 60 + "b")',
      limits: SHORT_CPU_LIMITS,
      expected: 'TIMEOUT_CPU',
    },
    {
      id: 'R46',
      title: 'a number with many digits',
      code: 'return 9 ** 9 ** 9',
      limits: SHORT_CPU_LIMITS,
      expected: 'TIMEOUT_CPU',
    },
    {
      id: 'R47',
      title: 'endless byte arrays',
      code: 'a = []\nwhile True: a.append(bytearray(10 ** 7))',
      expected: 'OUT_OF_MEMORY',
    },
    {
      id: 'R48',
      title: 'one huge byte array',
      code: 'return len(bytearray(10 ** 9))',
      expected: 'OUT_OF_MEMORY',
    },
    {
      id: 'R49',
      title: 'files in memory',
      code: 'i = 0\nwhile True:\n  open(f"/tmp/{i}", "wb").write(b"x" * 10 ** 7)\n  i += 1',
      expected: FAILURES,
    },
    {
      id: 'R50',
      title: 'deep recursion',
      code: 'def f(): return f()\nf()',
      expected: /^USER_ERROR RecursionError/,
    },
    {
      id: 'R51',
      title: 'recursion deeper than the interpreter’s stack',
      code: 'import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): return f()\nf()',
      expected: FAILURES,
    },
    {
      id: 'R52',
      title: 'the repr of a deeply nested list',
      code: 'a = []\nfor i in range(200000): a = [a]\nreturn len(repr(a))',
      expected: FAILURES,
    },
    {
      id: 'R53',
      title: 'a deeply nested list as result',
      code: 'a = []\nfor i in range(200000): a = [a]\nreturn a',
      expected: [...FAILURES, 'RESULT_NOT_SERIALIZABLE'],
    },
    {
      id: 'R54',
      title: 'memory of JavaScript',
      code: "from pyodide.code import run_js\nrun_js('const a = []; for (;;) a.push(new Array(1000).fill(Math.random()))')",
      expected: 'OUT_OF_MEMORY',
    },
    {
      id: 'R55',
      title: 'memory of WebAssembly',
      code: "from pyodide.code import run_js\nrun_js('const k = []; for (;;) { const m = new WebAssembly.Memory({ initial: 1000, maximum: 4096 }); new Uint8Array(m.buffer).fill(1); k.push(m) }')",
      expected: FAILURES,
    },
    { id: 'R56', title: 'a second process', code: 'import os\nos.fork()', expected: 'USER_ERROR' },
    {
      id: 'R57',
      title: 'threads',
      code: 'import threading\nfor i in range(1000): threading.Thread(target=lambda: None).start()\nreturn 1',
      expected: 'USER_ERROR',
    },
    {
      id: 'R58',
      title: 'a result that is too long',
      code: "return 'x' * 10 ** 8",
      expected: [...FAILURES, 'RESULT_TOO_LARGE'],
    },
    {
      id: 'R59',
      title: 'a number with many digits, converted to a string',
      code: 'import sys\nsys.set_int_max_str_digits(0)\nreturn len(str(10 ** 3000000))',
      limits: SHORT_CPU_LIMITS,
      expected: ['TIMEOUT_CPU', '3000001'],
    },
    {
      id: 'R60',
      title: 'endless console output',
      code: 'while True: print("x" * 1000)',
      limits: { ...SHORT_CPU_LIMITS, stdoutChars: 5_000 },
      expected: 'TIMEOUT_CPU',
    },
    {
      id: 'R61',
      title: 'bridge messages from JavaScript that Python calls',
      code: "from pyodide.code import run_js\nrun_js('for (;;) clearTimeout(setTimeout(() => {}, 1))')",
      limits: SHORT_CPU_LIMITS,
      expected: ['BRIDGE_LIMIT', 'TIMEOUT_CPU'],
    },
    {
      id: 'R62',
      title: 'WebAssembly tables',
      code: `from pyodide.code import run_js
run_js('const k = []; for (;;) k.push(new WebAssembly.Table({ initial: 1e7, element: "anyfunc" }))')`,
      limits: { cpuMs: 10_000 },
      expected: [...FAILURES, 'TIMEOUT_CPU'],
    },
    {
      id: 'R63',
      title: 'a loop in a WebAssembly module of the code',
      code: `import js
code = js.Uint8Array.new(list(bytes.fromhex("0061736d01000000010401600000030201000705010166" + "00000a0901070003400c000b0b")))
js.WebAssembly.Instance.new(js.WebAssembly.Module.new(code)).exports.f()`,
      limits: SHORT_CPU_LIMITS,
      expected: 'TIMEOUT_CPU',
    },
    {
      id: 'R64',
      title: 'growable shared memory, whose constructor is found through WebAssembly',
      code: `from pyodide.code import run_js
run_js('const S = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer.constructor; const k = []; for (;;) { const s = new S(8, { maxByteLength: 2 ** 30 }); s.grow(2 ** 30); new Uint8Array(s).fill(1); k.push(s) }')`,
      limits: { cpuMs: 10_000 },
      expected: [...FAILURES, 'TIMEOUT_CPU'],
    },
  ],
};

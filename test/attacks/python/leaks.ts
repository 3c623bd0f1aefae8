import type { AttackGroup } from '../attack.ts';

/** State that a Python job may leave for the next job of its run, which may share its interpreter. */
export const pythonLeakAttacks: AttackGroup = {
  name: 'Python: leaks between jobs',
  language: 'python',
  attacks: [
    {
      id: 'X09',
      title: 'built-ins and modules',
      earlierCode:
        "import builtins, sys, types\nbuiltins.leak = 'secret'\nbuiltins.len = lambda x: 0\nsys.modules['leakmod'] = types.ModuleType('leakmod')",
      code: "import builtins, sys\nreturn [str(getattr(builtins, 'leak', None)), 'leakmod' in sys.modules, len('abc'), 'leak' in globals()]",
      expected: '["None",false,3,false]',
    },
    {
      id: 'X10',
      title: 'files and the environment',
      earlierCode:
        "import os\nopen('/tmp/leak', 'w').write('s')\nopen('/home/leak', 'w').write('s')\nos.environ['LEAK'] = 's'",
      code: "import os\nreturn [os.path.exists('/tmp/leak'), os.path.exists('/home/leak'), os.environ.get('LEAK')]",
      expected: '[false,false,null]',
    },
    {
      id: 'X11',
      title: 'globals of JavaScript',
      earlierCode: "import js\njs.globalThis.leak = 'secret'\njs.Object.prototype.leak = 'secret'",
      code: "import js\nreturn [str(getattr(js.globalThis, 'leak', None)), str(getattr(js.Object.new(), 'leak', None))]",
      expected: '["None","None"]',
    },
    {
      id: 'X13',
      title: 'the seed of random numbers',
      earlierCode: 'import random\nrandom.seed(1)',
      code: 'import random\na = random.random()\nrandom.seed(1)\nreturn a != random.random()',
      expected: 'true',
    },
    {
      id: 'X13b',
      title: 'random numbers, whose state is in the initial memory of every interpreter',
      earlierCode:
        'import os, random, secrets, tempfile, uuid\nreturn [random.random(), random.SystemRandom().random(), secrets.token_hex(8), str(uuid.uuid4()), os.urandom(8).hex(), next(tempfile._get_candidate_names()), random.Random().random()]',
      code: 'import os, random, secrets, tempfile, uuid\nreturn [random.random(), random.SystemRandom().random(), secrets.token_hex(8), str(uuid.uuid4()), os.urandom(8).hex(), next(tempfile._get_candidate_names()), random.Random().random()]',
      requiresDistinctResults: true,
      expected: /^\[0/,
    },
    {
      id: 'X14',
      title: 'replaced functions of modules',
      earlierCode:
        "import json, os, time\njson.loads = lambda s: 'evil'\nos.getcwd = lambda: 'evil'\ntime.time = lambda: 0",
      code: "import json, os, time\nreturn [json.loads('{\"a\":1}'), os.getcwd() != 'evil', time.time() > 1e9]",
      expected: '[{"a":1},true,true]',
    },
    {
      id: 'X20',
      title: 'the functions that serialize results',
      earlierCode:
        "import json\njson.dumps = lambda *a, **k: '\"evil\"'\njson.JSONEncoder.default = lambda *a: 'evil'\njson.encoder.c_make_encoder = None",
      code: 'return {"a": 1}',
      expected: '{"a":1}',
    },
    {
      id: 'X21',
      title: 'hooks of imports, exits, tracing and garbage collection',
      earlierCode:
        "import sys, gc, atexit\nsys.meta_path.insert(0, type('L', (), {'find_spec': staticmethod(lambda *a: print('import hook'))}))\nsys.settrace(lambda *a: print('trace'))\nsys.setprofile(lambda *a: print('profile'))\ngc.callbacks.append(lambda *a: print('gc'))\natexit.register(lambda: print('exit'))\nsys.excepthook = lambda *a: print('hook')\nsys.displayhook = lambda *a: print('hook')",
      code: 'import gc, colorsys\ngc.collect()\nreturn 1',
      expected: '1',
      stdout: /^$/,
    },
    {
      id: 'X22',
      title: 'objects that are finalized later',
      earlierCode:
        "class A:\n  def __del__(self):\n    print('late')\nimport sys\nsys.leak = A()\na = A(); a.a = a",
      code: 'import gc\ngc.collect()\nreturn 1',
      expected: '1',
      stdout: /^$/,
    },
    {
      id: 'X23',
      title: 'asyncio tasks',
      earlierCode:
        "import asyncio\nasync def late():\n  await asyncio.sleep(0.01)\n  print('late')\nasyncio.ensure_future(late())",
      code: 'import asyncio\nawait asyncio.sleep(0.05)\nreturn 1',
      expected: '1',
      stdout: /^$/,
    },
    {
      id: 'X24',
      title: 'objects that the garbage collector lists',
      earlierCode:
        "class Secret:\n  pass\ns = Secret()\ns.value = 'heirloom' + str(7)\nimport sys\nsys.modules['json'].kept = s",
      code: "import gc\nreturn [type(o).__name__ for o in gc.get_objects() if type(o).__name__ == 'Secret' or (isinstance(o, dict) and o.get('value') == 'heirloom' + str(7))]",
      expected: '[]',
    },
    {
      id: 'X25',
      title: 'functions of the interpreter itself, changed by ctypes',
      earlierCode:
        'import ctypes\nname = "leak"\nctypes.memmove(id(7) + 12, ctypes.byref(ctypes.c_uint32(9)), 4)\nreturn 3 + 4',
      code: 'return 3 + 4',
      expected: '7',
    },
  ],
};

import type { AttackGroup } from '../attack.ts';

const image = 'wheels';

/** Attacks of an image's wheels on the interpreter, and on later jobs. */
export const pythonPackageAttacks: AttackGroup = {
  name: 'Python: hostile packages of an image',
  language: 'python',
  attacks: [
    {
      id: 'Y01',
      title: 'modules with the names of the standard library and of the runtime',
      image,
      code: 'import asyncio, builtins, json, random, impersonates, heddle_http, heddle_runtime, heddle_values\nreturn [getattr(builtins, "marks", None), [m.__name__ for m in (asyncio, json, random) if str(m.__file__).startswith("/opt/site")], hasattr(heddle_runtime, "start"), impersonates.VALUE]',
      expected: '[null,[],true,1]',
    },
    {
      id: 'Y02',
      title: 'files that Python runs when it starts',
      image,
      code: 'import builtins, importlib.util, os, sys\nreturn [getattr(builtins, "marks", None), [n for n in ("sitecustomize", "usercustomize") if n in sys.modules or importlib.util.find_spec(n)], [n for n in os.listdir("/opt/site") if n.endswith(".pth")]]',
      expected: '[null,[],[]]',
    },
    {
      id: 'Y03',
      title: 'extension modules that are not WebAssembly',
      image,
      code: 'import importlib, sys, broken_part\ntry:\n    importlib.import_module("broken_part._fast")\nexcept ImportError as error:\n    return [broken_part.FAST != "loaded", type(error).__name__]',
      expected: '[true,"ImportError"]',
    },
    {
      id: 'Y04',
      title: 'built-ins, the JSON encoder and random numbers, replaced in the initial memory of jobs',
      image,
      code: 'import json, patches\npatches.patch_json()\nreturn {"dumps": json.dumps({}), "value": [1, "x", None]}',
      expected: '{"dumps":"forged","value":[1,"x",null]}',
    },
    {
      id: 'Y05',
      title: 'import hooks',
      image,
      code: 'import colorsys, patches\nreturn "import colorsys" in patches.SEEN or "colorsys" in patches.SEEN',
      expected: ['true', 'false'],
    },
    {
      id: 'Y06',
      title: 'replaced functions of the runtime that collect the inputs of jobs',
      image,
      earlierCode: 'planted = "of the earlier job"\nreturn planted',
      code: 'import patches_runtime\nreturn [len(patches_runtime.SEEN) > 0, sum("plan" + "ted" in text for text in patches_runtime.SEEN)]',
      expected: '[true,0]',
    },
    {
      id: 'Y07',
      title: 'secrets in the state of modules',
      image,
      earlierCode: 'import remembers\nremembers.keep("secret")\nreturn remembers.recall()[0]',
      code: 'import remembers\nreturn remembers.recall()',
      expected: '[null,null,null,null,null,null,null]',
    },
    {
      id: 'Y08',
      title:
        'modules with the names of the interpreter’s JavaScript bridge, of its start-up modules and of the job',
      image,
      code: 'import builtins, collides, encodings, heddle_failure, importlib, js, pyodide, pyodide.ffi, pyodide_js, site, sys\nmodules = (encodings, heddle_failure, importlib, pyodide, pyodide.ffi, site, sys.modules["__main__"])\nreturn [getattr(builtins, "marks", None), [m.__name__ for m in modules if str(getattr(m, "__file__", "")).startswith("/opt/site")], hasattr(js, "Object"), hasattr(pyodide_js, "FS"), collides.VALUE]',
      expected: '[null,[],true,true,1]',
    },
    {
      id: 'Y09',
      title: 'files of packages that a job has overwritten',
      image,
      earlierCode:
        'import os\ncount = 0\nfor folder, _, names in os.walk("/opt/site"):\n  for name in names:\n    os.write(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_TRUNC), b"raise SystemExit(7)")\n    count += 1\nos.write(os.open("/opt/site/planted.py", os.O_WRONLY | os.O_CREAT), b"VALUE = 2")\nreturn count',
      code: 'import importlib, os, sys\nnames = [n for n in sys.modules if n in ("impersonates", "collides", "remembers")]\nfor n in names: del sys.modules[n]\nimport impersonates, collides\nreturn [impersonates.VALUE, collides.VALUE, os.path.exists("/opt/site/planted.py")]',
      expected: '[1,1,false]',
    },
  ],
};

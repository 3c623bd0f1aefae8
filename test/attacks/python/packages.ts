import type { AttackGroup } from '../attack.ts';

const image = 'wheels';

/** What hostile wheels of an image do to the interpreter, and from one job to the next. */
export const pythonPackages: AttackGroup = {
  name: 'Python: packages of an image',
  language: 'python',
  attacks: [
    {
      id: 'Y01',
      title: 'modules with the names of the standard library and of the runtime',
      image,
      code: 'import asyncio, builtins, json, random, poses, heddle_http, heddle_runtime, heddle_values\nreturn [getattr(builtins, "marks", None), [m.__name__ for m in (asyncio, json, random) if str(m.__file__).startswith("/opt/site")], hasattr(heddle_runtime, "start"), poses.VALUE]',
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
      title: 'compiled parts that are no WebAssembly',
      image,
      code: 'import importlib, sys, broken_part\ntry:\n    importlib.import_module("broken_part._fast")\nexcept ImportError as error:\n    return [broken_part.FAST != "loaded", type(error).__name__]',
      expected: '[true,"ImportError"]',
    },
    {
      id: 'Y04',
      title: 'built-ins, the writer of JSON and chance, replaced in the memory that jobs begin with',
      image,
      code: 'import json, patches\npatches.more()\nreturn {"dumps": json.dumps({}), "value": [1, "x", None]}',
      expected: '{"dumps":"forged","value":[1,"x",null]}',
    },
    {
      id: 'Y05',
      title: 'hooks of imports',
      image,
      code: 'import colorsys, patches\nreturn "import colorsys" in patches.SEEN or "colorsys" in patches.SEEN',
      expected: ['true', 'false'],
    },
    {
      id: 'Y06',
      title: 'functions of the runtime that see what jobs are given',
      image,
      before: 'planted = "of the job before"\nreturn planted',
      code: 'import overtakes\nreturn [len(overtakes.SEEN) > 0, sum("plan" + "ted" in text for text in overtakes.SEEN)]',
      expected: '[true,0]',
    },
    {
      id: 'Y07',
      title: 'secrets in the state of modules',
      image,
      before: 'import remembers\nremembers.keep("secret")\nreturn remembers.tell()[0]',
      code: 'import remembers\nreturn remembers.tell()',
      expected: '[null,null,null,null,null,null,null]',
    },
  ],
};

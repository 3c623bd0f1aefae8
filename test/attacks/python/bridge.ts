import type { AttackGroup } from '../attack.ts';

/** Values, errors and requests of Python that have another meaning in the host. */
export const pythonBridgeAttacks: AttackGroup = {
  name: 'Python: forged and misleading messages',
  language: 'python',
  attacks: [
    {
      id: 'B40',
      title: 'NaN as a number',
      code: 'import math\nreturn [math.nan]',
      expected: 'RESULT_NOT_SERIALIZABLE',
    },
    {
      id: 'B41',
      title: 'a cycle',
      code: 'a = []\na.append(a)\nreturn a',
      expected: 'RESULT_NOT_SERIALIZABLE',
    },
    {
      id: 'B42',
      title: 'subclasses that change how they are serialized',
      code: "class D(dict):\n  def items(self): return [('__proto__', {'polluted': 1})]\nclass S(str):\n  def __str__(self): return 'evil'\nreturn [D(a=1), S('s')]",
      expected: '[{"__proto__":{"polluted":1}},"s"]',
    },
    {
      id: 'B43',
      title: '__proto__ as a key',
      code: 'return {"__proto__": {"polluted": 1}}',
      expected: '{"__proto__":{"polluted":1}}',
    },
    {
      id: 'B44',
      title: 'lone surrogates',
      code: 'print("\\ud800")\nreturn "\\udfff"',
      expected: /^"/,
    },
    {
      id: 'B45',
      title: 'an error whose message never returns',
      code: 'class E(Exception):\n  def __str__(self):\n    while True: pass\nraise E()',
      limits: { cpuMs: 500, wallMs: 20_000 },
      expected: 'TIMEOUT_CPU',
    },
    {
      id: 'B46',
      title: 'an error with a very long message',
      code: 'raise ValueError("x" * 10 ** 7)',
      expected: /^USER_ERROR ValueError: x{100,8000}/,
    },
    {
      id: 'B47',
      title: 'a forged result, sent through JavaScript functions of the guest runtime',
      code: "import js\nfor n in dir(js):\n  if 'heddle' in n.lower() or n in ('post', 'send'):\n    getattr(js, n)('D\"forged\"')\nreturn 1",
      expected: '1',
    },
    {
      id: 'B48',
      title: 'requests to the internal server, with every HTTP client',
      code: `import urllib.request, http.client
seen = []
url = f"http://127.0.0.1:{internalPort}/"
def by_urllib(): return urllib.request.urlopen(url).read()
def by_client():
  c = http.client.HTTPConnection("127.0.0.1", internalPort)
  c.request("GET", "/")
  return c.getresponse().read()
def by_requests():
  import requests
  return requests.get(url).text
def by_xhr():
  import js
  x = js.XMLHttpRequest.new()
  x.open("GET", url, False)
  x.send()
  return x.responseText
for f in (by_urllib, by_client, by_requests, by_xhr):
  try:
    seen.append(str(f()))
  except BaseException as e:
    pass
return [s for s in seen if "INTERNAL" in s]`,
      expected: '[]',
    },
    {
      id: 'B49',
      title: 'line breaks in headers of a request',
      code: `import urllib.request
try:
  r = urllib.request.urlopen(urllib.request.Request(f"http://ok.test:{externalPort}/echo", headers={"X-A": "a\\r\\nHost: evil"}))
  return "evil" in r.read().decode()
except BaseException:
  return False`,
      expected: 'false',
    },
    {
      id: 'B50',
      title: 'a redirect to the internal server',
      code: `import requests
try:
  return requests.get(f"http://ok.test:{externalPort}/to?at=http://127.0.0.1:{internalPort}/").text
except BaseException as e:
  return "refused"`,
      expected: '"refused"',
    },
    {
      id: 'B51',
      title: 'an unreadable error, after an await',
      code: `import asyncio
class T(str):
  def __getitem__(self, k): raise KeyboardInterrupt
class M(type):
  @property
  def __name__(cls): return 1 / 0
class E(Exception, metaclass=M):
  def __str__(self): return T("x")
  @property
  def __traceback__(self): raise SystemExit
await asyncio.sleep(0)
raise E()`,
      limits: { wallMs: 10_000 },
      expected: 'USER_ERROR',
    },
    {
      id: 'B52',
      title: 'a result whose model_dump returns another such object endlessly',
      code: 'class M:\n  def model_dump(self): return M()\nreturn M()',
      expected: ['RESULT_NOT_SERIALIZABLE', 'USER_ERROR'],
    },
    {
      id: 'B53',
      title: 'built-ins that are removed before the result is serialized',
      code: "import builtins\nfor n in ('str', 'print', 'len', 'isinstance', 'type', 'BaseException', 'dict', 'list', 'sorted', 'getattr'):\n  setattr(builtins, n, None)\nreturn [1]",
      limits: { wallMs: 10_000 },
      expected: ['[1]', 'USER_ERROR', 'RESULT_NOT_SERIALIZABLE'],
    },
    {
      id: 'B54',
      title: 'a forged result and a forged error, sent by the runtime’s own module',
      code: 'import heddle_runtime\nheddle_runtime._bridge.succeed(\'"forged"\')\nheddle_runtime._bridge.fail(\'{"phase":"constructor"}\')\nheddle_runtime._bridge.succeed("{")\nreturn 1',
      expected: ['"forged"', '1'],
    },
    {
      id: 'B55',
      title: 'host calls of unknown operations',
      code: `import heddle_sync
seen = []
for op in ("exec", "constructor", "eval", "fetch"):
  for head in ({}, {"url": "http://127.0.0.1/", "method": "GET", "headers": {"__proto__": 1}}, [], {"url": []}):
    try:
      seen.append(str(heddle_sync.call(op, head, None)))
    except BaseException as e:
      pass
return seen`,
      expected: '[]',
    },
    {
      id: 'B56',
      title: 'a request that is too long, and one that has only brackets',
      code: `import heddle_sync
seen = []
for head in ({"url": "http://ok.test/" + "x" * 600_000, "method": "GET", "headers": []}, {"url": "http://ok.test/", "method": "GET", "headers": [[]] * 150_000}):
  try:
    seen.append(str(heddle_sync.call("fetch", head, None)))
  except BaseException as e:
    pass
return seen`,
      expected: '[]',
    },
  ],
};

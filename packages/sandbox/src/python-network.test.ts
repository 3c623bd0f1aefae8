import { afterAll, describe, expect, it } from 'vitest';
import { startEchoServer } from '../../../test/support/echo-server.ts';
import { valueIn } from '../../../test/support/outcome.ts';
import { createSandbox, type FunctionJob, type FunctionOutcome } from './index.ts';

const server = await startEchoServer();
const { url } = server;
const sandbox = createSandbox({
  python: { maxProcesses: 1 },
  egress: { allowPrivate: ['127.0.0.1/32'], ports: 'any' },
});
afterAll(async () => {
  await sandbox.close();
  server.close();
});

const run = (code: string, fields: Partial<FunctionJob> = {}): Promise<FunctionOutcome> =>
  sandbox.run({ runId: 'net', language: 'python', code, globals: { url: JSON.stringify(url) }, ...fields });

const valueOf = async (code: string): Promise<unknown> => valueIn(await run(code));

describe('the library requests in Python', () => {
  it('returns status, headers, JSON, text and bytes', async () => {
    const code = `
import requests
r = requests.get(url + "/a", params={"q": ["b c", "é"], "none": None}, headers={"X-Own": "1"})
n = requests.get(url + "/no")
return [r.ok, r.status_code, r.reason, r.headers["X-OWN"], r.json()["path"], r.json()["own"], "method" in r.text,
        n.ok, bool(n), n.status_code, list(requests.get(url + "/bytes").content), repr(n)]`;
    expect(await valueOf(code)).toEqual([
      ...[true, 200, 'OK', 'yes', '/a?q=b+c&q=%C3%A9', '1', true],
      ...[false, false, 404, [0, 255, 128, 10], '<Response [404]>'],
    ]);
  });

  it('sends JSON, forms, bytes, files, credentials and cookies', async () => {
    const code = `
import requests, base64
def sent(**options):
    return requests.post(url, **options).json()
def body(**options):
    return base64.b64decode(sent(**options)["body"]).decode()
s = requests.Session()
s.headers["X-Own"] = "session"
s.get(url + "/set")
again = s.get(url).json()
return [sent(json={"a": 1})["type"], body(json={"a": 1}), body(data={"a": "b c"}), body(data="é"),
        sent(auth=("u", "p"))["auth"], [again["cookie"], again["own"]],
        "filename=\\"f.txt\\"" in body(files={"file": ("f.txt", b"hello")}), requests.delete(url).json()["method"]]`;
    expect(await valueOf(code)).toEqual([
      ...['application/json', '{"a": 1}', 'a=b+c', 'é', 'Basic dTpw', ['k=v', 'session'], true, 'DELETE'],
    ]);
  });

  it('follows redirects, unless disabled', async () => {
    const code = `
import requests
a, b = requests.get(url + "/moved"), requests.get(url + "/moved", allow_redirects=False)
return [a.json()["path"], a.url == url + "/there", b.status_code, b.is_redirect]`;
    expect(await valueOf(code)).toEqual(['/there', true, 302, true]);
  });

  it('raises the exceptions of the library', async () => {
    const code = `
import requests
out = []
for action in (lambda: requests.get("http://10.9.8.7/"), lambda: requests.get(url + "/no").raise_for_status(),
               lambda: requests.get(url + "/silent", timeout=0.05), lambda: requests.get(url + "/bytes").json()):
    try: action()
    except requests.exceptions.RequestException as error: out.append([type(error).__name__, str(error)])
return out`;
    expect(await valueOf(code)).toEqual([
      ['ConnectionError', expect.stringContaining('10.9.8.7')],
      ['HTTPError', expect.stringContaining('404 Client Error: Not Found for url')],
      ['Timeout', expect.stringContaining('50 ms')],
      ['JSONDecodeError', expect.any(String)],
    ]);
  });

  it('fails the job at the line of an uncaught exception', async () => {
    expect(await run('import requests\nrequests.get("http://169.254.169.254/")')).toMatchObject({
      ok: false,
      error: { code: 'USER_ERROR', name: 'ConnectionError', line: 2 },
    });
  });
});

describe('urllib in Python', () => {
  it('opens URLs, sends data and follows redirects', async () => {
    const code = `
import urllib.request, urllib.error, http.client
with urllib.request.urlopen(url + "/a", timeout=3) as r:
    first = [r.status, r.getheader("X-Own"), json.load(r)["method"], r.url == url + "/a"]
sent = urllib.request.Request(url, data=b"x=1", headers={"X-Own": "u"}, method="PUT")
second = json.load(urllib.request.urlopen(sent))
moved = urllib.request.urlopen(url + "/moved")
try: urllib.request.urlopen(url + "/no")
except urllib.error.HTTPError as error: third = [error.code, error.reason, error.read()[:1].decode()]
try: urllib.request.urlopen("https://10.9.8.7/")
except urllib.error.URLError as error: fourth = str(error.reason)
c = http.client.HTTPConnection(url[7:])
c.request("HEAD", "/")
head = c.getresponse()
return [first, [second["method"], second["own"], second["body"]], moved.url[-6:], third, fourth, head.status, head.read() == b""]`;
    expect(await valueOf(code)).toEqual([
      [200, 'yes', 'GET', true],
      ['PUT', 'u', 'eD0x'],
      '/there',
      [404, 'Not Found', '{'],
      expect.stringContaining('10.9.8.7'),
      200,
      true,
    ]);
  });
});

describe('awaited requests in Python', () => {
  it("run concurrently, by pyfetch and by JavaScript's fetch", async () => {
    const code = `
import asyncio
from pyodide.http import pyfetch
from js import fetch
async def body(n):
    r = await pyfetch(url, method="POST", body=str(n), headers={"X-Own": "p"})
    return [r.status, (await r.json())["body"]]
plain = await fetch(url + "/a")
return [await asyncio.gather(*(body(n) for n in range(3))), plain.status, (await plain.json()).path]`;
    expect(await valueOf(code)).toEqual([
      [
        [200, 'MA=='],
        [200, 'MQ=='],
        [200, 'Mg=='],
      ],
      200,
      '/a',
    ]);
  });
});

describe('sockets in Python', () => {
  it('are not available', async () => {
    const port = Number(new URL(url).port);
    const code = `
import socket
try:
    socket.create_connection(("127.0.0.1", ${port}), 1).sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    return "connected"
except OSError as error:
    return "refused"`;
    expect(await valueOf(code)).toBe('refused');
  });
});

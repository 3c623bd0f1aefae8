import type { AttackGroup } from '../attack.ts';
import { DENIED, requestCode } from './egress.ts';

/** Returns code that sends several requests and returns their results. */
const requestEachCode = (namesCode: string, url: string): string =>
  `return await Promise.all(${namesCode}.map((name) => fetch(\`${url}\`).then((r) => r.text(), (e) => e.code)))`;

/** Paths of raw responses of the attack network. */
const RAW_PATHS_CODE = `['garbage', 'old', 'two-lengths', 'both-lengths', 'huge-chunk', 'switch', 'informs', 'fold', 'status', 'names', 'poison', 'location']`;

/** Servers and resolvers of an attacker, and request smuggling. */
export const serverAttacks: AttackGroup = {
  name: 'Hostile servers and resolvers',
  language: 'javascript',
  attacks: [
    {
      id: 'N41',
      title: 'the metadata service of a cloud at a public address',
      code: requestCode('http://168.63.129.16/machine?comp=goalstate'),
      expected: DENIED,
    },
    {
      id: 'N42',
      title:
        'names that resolve to IPv4 addresses inside IPv6 ones, to zones, and to many addresses of which one is internal',
      code: requestEachCode(
        "['mapped', 'mapped-hex', 'mapped-long', 'six', 'zone', 'translated', 'tunnel', 'many']",
        'http://${name}.test:${internalPort}/',
      ),
      expected: JSON.stringify(Array.from({ length: 8 }, () => 'EGRESS_DENIED')),
    },
    {
      id: 'N43',
      title: 'a resolver that never answers',
      code: 'await fetch(`http://silent.test:${internalPort}/`)',
      limits: { wallMs: 300 },
      expected: 'TIMEOUT_WALL',
    },
    {
      id: 'N44',
      title: 'line breaks in a URL, raw and encoded',
      code: 'const r = await fetch(`http://ok.test:${externalPort}/url/%0d%0aX-Evil:%201%0d%0a/?a=\\r\\nX-Evil: 2#\\r\\nX-Evil: 3`); const { url, headers } = await r.json(); return [url, Object.keys(headers).filter((name) => /evil/.test(name))]',
      expected: '["/url/%0d%0aX-Evil:%201%0d%0a/?a=X-Evil:%202",[]]',
    },
    {
      id: 'N45',
      title: 'a request inside the body of another request, with lengths that end the body early',
      code: `const body = '0\\r\\n\\r\\nGET /smuggled HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n';
        const post = (headers) => fetch(\`http://ok.test:\${externalPort}/url/a\`, { method: 'POST', body, headers }).then((r) => r.status, (e) => e.code);
        const all = [{ 'Content-Length': '0' }, { 'Transfer-Encoding': 'chunked' }, { 'Content-Length': '5', 'Transfer-Encoding': 'identity' }, [['Content-Length', '5'], ['content-length', '50']], { Connection: 'close, content-length' }, { 'Content-Length': '+5' }, { 'Content-Length': '0x5', TE: 'trailers', Trailer: 'X' }];
        const statuses = []; for (const headers of all) statuses.push(await post(headers));
        return [[...new Set(statuses)], await (await fetch(\`http://ok.test:\${externalPort}/smuggled-count\`)).text()]`,
      expected: '[[200],"0"]',
    },
    {
      id: 'N46',
      title: 'responses that are each small enough, but together exceed the limit',
      code: 'let refused = 0; await new Promise((done) => { for (let i = 0; i < 40; i++) fetch(`http://ok.test:${externalPort}/hold`).catch((e) => { if (e.code === "EGRESS_TOO_LARGE" && ++refused === 37) done() }) }); return "refused"',
      limits: { bridgeChars: 1_000_000, wallMs: 15_000 },
      expected: '"refused"',
    },
    {
      id: 'N47',
      title: 'servers whose responses are not HTTP, or have extra bytes',
      code: `const seen = []; for (const name of ${RAW_PATHS_CODE}) for (let turn = 0; turn < 2; turn++) seen.push(await fetch(\`http://ok.test:\${rawPort}/\${name}\`).then((r) => r.text(), (e) => e.code));
        return [...new Set(seen)].filter((text) => !/^(?:ok|hello!?|raw|EGRESS_FAILED|EGRESS_DENIED|EGRESS_TOO_LARGE|)$/.test(text))`,
      expected: '[]',
    },
    {
      id: 'N48',
      title: 'response headers with the names of prototype properties',
      code: 'const r = await fetch(`http://ok.test:${rawPort}/names`); return [r.headers.get("__proto__"), r.headers.get("constructor"), ({}).polluted === undefined, String(r.headers)]',
      expected: '["polluted","x",true,"[object Object]"]',
    },
    {
      id: 'N49',
      title: 'redirects to every other scheme, and to invalid URLs',
      code: `const all = ['ws://ok.test/', 'wss://ok.test/', 'ftp://ok.test/', 'data:text/html,x', 'javascript:1', 'blob:http://ok.test/x', 'about:blank', 'gopher://ok.test/', 'unix:/run/x', 'http://', 'http://[', '//', 'http:///', 'HTTPS://127.0.0.1:\${internalPort}/'];
        return await Promise.all(all.map((location) => fetch(\`http://ok.test:\${externalPort}/to?at=\${encodeURIComponent(location)}\`).then((r) => 'accepted ' + location, (e) => e.code))).then((list) => [...new Set(list)])`,
      expected: '["EGRESS_DENIED"]',
    },
    {
      id: 'N50',
      title: 'invalid and impossible lengths of bodies',
      code: `const seen = []; for (const name of ['huge-length', 'negative-length', 'exponent-length', 'endless-length', 'cut']) seen.push(await fetch(\`http://ok.test:\${rawPort}/\${name}\`).then((r) => 'accepted ' + name, (e) => e.code)); return [...new Set(seen)]`,
      expected: ['["EGRESS_FAILED"]', '["EGRESS_TOO_LARGE","EGRESS_FAILED"]'],
    },
    {
      id: 'N51',
      title: 'bodies that are compressed twice, in many members, incompletely, or not as declared',
      code: `const read = (name) => fetch(\`http://ok.test:\${externalPort}/\${name}\`).then((r) => r.text()).then((t) => t.length < 100_000, (e) => e.code);
        return [await read('compressed-twice'), await read('compressed-members'), await read('compressed-wrongly'), await read('compressed-half'), await read('compressed-unknown')]`,
      expected: '[true,"EGRESS_TOO_LARGE","EGRESS_FAILED","EGRESS_FAILED",true]',
    },
    {
      id: 'N52',
      title: 'the maximum number of cookies in a response head',
      code: 'return await fetch(`http://ok.test:${rawPort}/many-cookies`).then((r) => r.headers.getSetCookie().length, (e) => e.code)',
      expected: ['700', '"EGRESS_FAILED"'],
    },
  ],
};

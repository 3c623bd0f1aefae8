import type { Attack, AttackGroup } from '../attack.ts';

/**
 * Returns code that requests `url`, and returns the response or the code of the error. `url` is a template with the
 * ports of the attack network.
 */
export const requestCode = (url: string): string =>
  `try { const r = await fetch(\`${url}\`); return 'REACHED ' + r.status + await r.text() } catch (e) { return e.code ?? e.message }`;

export const DENIED = '"EGRESS_DENIED"';

/** URLs of forbidden targets, in every notation. */
const URLS: Readonly<Record<string, string>> = {
  N01: 'http://169.254.169.254/latest/meta-data/iam/',
  N02: 'http://127.0.0.1:${internalPort}/',
  N03: 'http://2130706433:${internalPort}/',
  N04: 'http://0x7f.1:${internalPort}/',
  N04b: 'http://0x7f000001:${internalPort}/',
  N05: 'http://0177.0.0.1:${internalPort}/',
  N05b: 'http://017700000001:${internalPort}/',
  N05c: 'http://0x7f.0.0x0.01:${internalPort}/',
  N06: 'http://127.1:${internalPort}/',
  N06b: 'http://127.0.0.1.:${internalPort}/',
  N07: 'http://[::1]:${internalPort}/',
  N08: 'http://[::ffff:127.0.0.1]:${internalPort}/',
  N08b: 'http://[::ffff:7f00:1]:${internalPort}/',
  N08c: 'http://[0:0:0:0:0:ffff:127.0.0.1]:${internalPort}/',
  N08d: 'http://[::127.0.0.1]:${internalPort}/',
  N08e: 'http://[::ffff:0:127.0.0.1]:${internalPort}/',
  N09: 'http://[::]:${internalPort}/',
  N10: 'http://0.0.0.0:${internalPort}/',
  N10b: 'http://0:${internalPort}/',
  N11: 'http://localhost:${internalPort}/',
  N12: 'http://localhost.:${internalPort}/',
  N12b: 'http://localhost..:${internalPort}/',
  N12c: 'http://LOCALHOST:${internalPort}/',
  N13: 'http://foo.localhost:${internalPort}/',
  N14: 'http://metadata.google.internal/computeMetadata/v1/',
  N14b: 'http://kubernetes.default.svc:${internalPort}/',
  N15: 'http://[fd00:ec2::254]/',
  N16: 'http://100.100.100.200/latest/meta-data/',
  N17: 'http://[64:ff9b::7f00:1]:${internalPort}/',
  N17b: 'http://[64:ff9b:1::7f00:1]:${internalPort}/',
  N18: 'http://[2002:7f00:1::]:${internalPort}/',
  N18b: 'http://[2001:0:7f00:1::]:${internalPort}/',
  N19: 'http://[fe80::1]:${internalPort}/',
  N19b: 'http://[fec0::1]:${internalPort}/',
  N19c: 'http://[ff02::1]:${internalPort}/',
  N20: 'file:///etc/passwd',
  N21: 'data:text/plain,hi',
  N21b: 'blob:http://127.0.0.1/x',
  N21c: 'javascript:1',
  N21d: 'ws://127.0.0.1:${internalPort}/',
  N22: 'gopher://127.0.0.1:${internalPort}/_INFO',
  N23: 'http://user:pw@ok.test:${externalPort}/',
  N23b: 'http://ok.test@127.0.0.1:${internalPort}/',
  N23c: 'http://127.0.0.1:${internalPort}\\\\@ok.test/',
  N23d: 'http://127.0.0.1:${internalPort}#@ok.test/',
  N23e: 'http://ok.test#@127.0.0.1:${internalPort}/@',
  N26: 'http://①②⑦.⓪.⓪.①:${internalPort}/',
  N26b: 'http://127。0。0。1:${internalPort}/',
  N26c: 'http://%31%32%37.0.0.1:${internalPort}/',
  N26d: 'http://127.0.0.1\u00ad:${internalPort}/',
  N26e: 'http://loc\u00adalhost:${internalPort}/',
  N26f: 'http://ｌｏｃａｌｈｏｓｔ:${internalPort}/',
  N27: 'http://127.0.0.1.nip.test:${internalPort}/',
  N27b: 'http://any.name.nip.test:${internalPort}/',
  N28: 'http://rebind.test:${internalPort}/',
  N30: 'http://192.168.0.1/',
  N30b: 'http://172.16.0.1/',
  N30c: 'http://198.18.0.1/',
  N30d: 'http://255.255.255.255/',
  N31: 'https://10.0.0.1/',
  N32: 'http://[::ffff:a9fe:a9fe]/',
  N32b: 'http:\\\\\\\\127.0.0.1:${internalPort}\\\\',
  N32c: 'http:127.0.0.1:${internalPort}',
  N32d: ' ht\\ntp://127.0.0.1:${internalPort}/',
  N32e: '//127.0.0.1:${internalPort}/',
  N32f: 'http://[::1%25lo]:${internalPort}/',
  N32g: 'http://127.0.0.1:${internalPort}\\u0000.ok.test/',
  N32h: 'HTTP://127.0.0.1:${internalPort}',
};

const urlRequests: readonly Attack[] = Object.entries(URLS).map(([id, url]) => ({
  id,
  title: `a request to ${url}`,
  code: requestCode(url),
  // A host name that is parsed differently may resolve to the allowed server.
  expected: url.includes('ok.test#@') ? [DENIED, /^"REACHED 200external"$/, '"EGRESS_FAILED"'] : DENIED,
}));

const redirectAttack = (id: string, target: string, location: string, status = 302): Attack => ({
  id,
  title: `a redirect to ${target}`,
  code: requestCode(
    `http://ok.test:\${externalPort}/to?status=${status}&at=\${encodeURIComponent(\`${location}\`)}`,
  ),
  expected: DENIED,
});

const otherRequests: readonly Attack[] = [
  {
    id: 'N24',
    title: 'a host name of a single label, as in internal networks',
    code: requestCode('http://redis:${internalPort}/'),
    expected: DENIED,
  },
  {
    id: 'N28b',
    title: 'a host name that first resolves to an allowed address, and later to an internal one',
    code: 'const seen = []; for (let i = 0; i < 4; i++) seen.push(await fetch(`http://rebind-later.test:${i < 1 ? externalPort : internalPort}/`).then((r) => r.text(), (e) => e.code)); return seen',
    expected: '["external","EGRESS_DENIED","EGRESS_DENIED","EGRESS_DENIED"]',
  },
  redirectAttack('N29', 'the internal server', 'http://127.0.0.1:${internalPort}/'),
  redirectAttack('N29b', 'the internal server, without a scheme', '//127.0.0.1:${internalPort}/'),
  redirectAttack('N29c', 'the internal server, with backslashes', '\\\\\\\\127.0.0.1:${internalPort}/'),
  redirectAttack('N29d', 'the internal server, by a host name', 'http://x.nip.test:${internalPort}/', 307),
  redirectAttack('N29e', 'a file', 'file:///etc/passwd', 308),
  redirectAttack('N29f', 'a URL with credentials', 'http://a:b@ok.test:${externalPort}/', 301),
  redirectAttack(
    'N29g',
    'another redirect to the internal server',
    'http://ok.test:${externalPort}/to?at=http://127.0.0.1:${internalPort}/',
    303,
  ),
  redirectAttack('N29h', 'the metadata service of a cloud', 'http://169.254.169.254/latest/'),
  {
    id: 'N33',
    title: 'line breaks in header values and names',
    code: 'const all = [{ "X-A": "a\\r\\nHost: evil" }, { "X-A": "a\\nb" }, [["x\\r\\ny", "1"]], { "x y": "1" }, { "x": "a\\0b" }, { "X-A": "\\u010d\\u010aHost: evil" }]; return await Promise.all(all.map(async (headers) => { try { return await (await fetch(`http://ok.test:${externalPort}/echo`, { headers })).text() } catch (e) { return "refused" } })).then((list) => [...new Set(list)])',
    expected: '["refused"]',
  },
  {
    id: 'N34',
    title: 'headers of the connection, and another Host header',
    code: 'const r = await fetch(`http://ok.test:${externalPort}/echo`, { headers: { Host: "internal", "Transfer-Encoding": "chunked", "Content-Length": "999", Connection: "upgrade", Upgrade: "websocket", Expect: "100-continue", "Proxy-Authorization": "x", "X-Ok": "1" } }); const h = await r.json(); return [h.host === `ok.test:${externalPort}`, h["x-ok"], h["transfer-encoding"], h.upgrade, h.expect, h["proxy-authorization"]].map(String)',
    expected: '["true","1","undefined","undefined","undefined","undefined"]',
  },
  {
    id: 'N35',
    title: 'a response that is too large',
    code: 'try { return (await (await fetch(`http://ok.test:${externalPort}/big`)).text()).length } catch (e) { return e.code }',
    expected: '"EGRESS_TOO_LARGE"',
  },
  {
    id: 'N36',
    title: 'responses that are small until they are decompressed',
    code: 'return await Promise.all(["gzip-bomb", "brotli-bomb"].map((path) => fetch(`http://ok.test:${externalPort}/${path}`).then((r) => r.text()).then((t) => t.length, (e) => e.code)))',
    expected: '["EGRESS_TOO_LARGE","EGRESS_TOO_LARGE"]',
  },
  {
    id: 'N36b',
    title: 'very long response headers',
    code: 'return await fetch(`http://ok.test:${externalPort}/headers`).then(() => "accepted", (e) => e.code)',
    expected: ['"EGRESS_FAILED"', '"EGRESS_TOO_LARGE"'],
  },
  {
    id: 'N37',
    title: 'endless redirects',
    code: requestCode('http://ok.test:${externalPort}/loop'),
    expected: DENIED,
  },
  {
    id: 'N38',
    title: 'invalid methods, and CONNECT',
    code: 'return await Promise.all(["CONNECT", "connect", "TRACE", "TRACK", "GET / HTTP/1.1\\r\\nHost: evil\\r\\n\\r\\nGET", "", "X".repeat(99)].map((method) => fetch(`http://ok.test:${externalPort}/echo`, { method }).then((r) => r.text(), (e) => e.code))).then((all) => [...new Set(all)])',
    expected: ['["EGRESS_DENIED"]', /^\["EGRESS_DENIED","\{/],
  },
  {
    id: 'N39',
    title: 'credentials are not sent to another origin',
    code: 'const r = await fetch(`http://ok.test:${externalPort}/to?at=${encodeURIComponent(`http://127.0.0.2:${externalPort}/echo`)}`, { headers: { Authorization: "Bearer x", Cookie: "a=1", "X-Api-Key": "k", "X-Functions-Key": "f", "Accept-Language": "de" } }); const h = await r.json(); return [h["accept-language"], h["x-functions-key"], h.authorization, h.cookie, h["x-api-key"]].map(String)',
    expected: '["de","undefined","undefined","undefined","undefined"]',
  },
  {
    id: 'N40',
    title: 'a proxy in the host’s environment',
    code: 'return await (await fetch(`http://ok.test:${externalPort}/`)).text()',
    expected: '"external"',
  },
];

/** Requests to targets that only the host can access, with a policy that allows one server. */
export const egressAttacks: AttackGroup = {
  name: 'Network and SSRF',
  language: 'javascript',
  attacks: [...urlRequests, ...otherRequests],
};

/** The attacks with URLs only, for policies that allow no private address. */
export const urlAttacks: AttackGroup = { ...egressAttacks, attacks: urlRequests };

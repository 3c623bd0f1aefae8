import { afterAll, describe, expect, it } from 'vitest';
import { valueIn } from '../../../test/support/outcome.ts';
import { createSandbox } from './index.ts';

const sandbox = createSandbox({ maxProcesses: 1 });
afterAll(() => sandbox.close());

const valueOf = async (code: string): Promise<unknown> => valueIn(await sandbox.run({ runId: 'web', code }));

describe('the web globals of user code', () => {
  it('include URL and URLSearchParams', async () => {
    expect(
      await valueOf(
        'const u = new URL("../x?a=1&a=2", "https://h.com/p/q"); u.searchParams.append("b", "c d"); return [u.href, u.searchParams.getAll("a"), URL.canParse("no")]',
      ),
    ).toEqual(['https://h.com/x?a=1&a=2&b=c+d', ['1', '2'], false]);
  });

  it('include TextEncoder and TextDecoder, with the results of Node.js', async () => {
    const text = 'aé€😀\ud800';
    const bytes = [...new TextEncoder().encode(text)];
    expect(await valueOf(`return [...new TextEncoder().encode(${JSON.stringify(text)})]`)).toEqual(bytes);
    const invalidBytes = [0x61, 0xff, 0xe2, 0x82, 0xf0, 0x9f, 0x98, 0x80, 0xed, 0xa0, 0x80, 0xc0, 0xaf];
    expect(
      await valueOf(`return new TextDecoder().decode(new Uint8Array(${JSON.stringify(invalidBytes)}))`),
    ).toBe(new TextDecoder().decode(new Uint8Array(invalidBytes)));
    expect(
      await valueOf(
        'const d = new TextDecoder(); return d.decode(new Uint8Array([0xe2, 0x82]), { stream: true }) + d.decode(new Uint8Array([0xac]))',
      ),
    ).toBe('€');
    expect(
      await valueOf(
        'try { new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255])) } catch (e) { return e.name }',
      ),
    ).toBe('TypeError');
    expect(
      await valueOf(
        'return [new TextDecoder("latin1").decode(new Uint8Array([0x80, 0xe9])), new TextDecoder("utf-16le").decode(new Uint8Array([0x41, 0, 0xac, 0x20]))]',
      ),
    ).toEqual(['€é', 'A€']);
  });

  it('include a TextDecoder of UTF-16 that replaces lone surrogates and an odd byte, as in Node.js', async () => {
    const inputs = [
      [0x3d, 0xd8, 0x00, 0xde],
      [0x41, 0, 0x3d],
      [0x3d, 0xd8],
      [0x3d, 0xd8, 0x41, 0],
      [0x00, 0xde, 0x41, 0],
      [0x3d, 0xd8, 0x3d, 0xd8, 0x00, 0xde],
      [0x3d, 0xd8, 0x00],
    ];
    const code = `return ${JSON.stringify(inputs)}.map((bytes) => {
      let fatal = false;
      try { new TextDecoder("utf-16le", { fatal: true }).decode(new Uint8Array(bytes)) } catch { fatal = true }
      const decoder = new TextDecoder("utf-16le");
      const streamed = bytes.map((byte) => decoder.decode(new Uint8Array([byte]), { stream: true })).join("");
      return [new TextDecoder("utf-16le").decode(new Uint8Array(bytes)), streamed + decoder.decode(), fatal];
    })`;
    const isValid = (bytes: number[]) =>
      bytes.length % 2 === 0 && Buffer.from(bytes).toString('utf16le').isWellFormed();
    expect(await valueOf(code)).toEqual(
      inputs.map((bytes) => {
        const text = new TextDecoder('utf-16le').decode(new Uint8Array(bytes));
        return [text, text, !isValid(bytes)];
      }),
    );
  });

  it('include crypto with random values and UUIDs', async () => {
    const [first, second] = (await valueOf('return [crypto.randomUUID(), crypto.randomUUID()]')) as [
      string,
      string,
    ];
    expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(second).not.toBe(first);
    expect(
      await valueOf(
        'const a = new Uint8Array(64); return crypto.getRandomValues(a) === a && a.some((b) => b > 0)',
      ),
    ).toBe(true);
  });

  it('include crypto.subtle with digests and HMACs', async () => {
    const helperCode =
      'const hex = (b) => Buffer.from(b).toString("hex"); const bytes = (t) => new TextEncoder().encode(t);';
    expect(
      await valueOf(`${helperCode} return hex(await crypto.subtle.digest("SHA-256", bytes("abc")))`),
    ).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    const signCode = `${helperCode} const key = await crypto.subtle.importKey("raw", bytes("key"), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
      const data = bytes("The quick brown fox jumps over the lazy dog"); const mac = await crypto.subtle.sign("HMAC", key, data);
      return [hex(mac), await crypto.subtle.verify("HMAC", key, mac, data), await crypto.subtle.verify("HMAC", key, mac, bytes("other"))]`;
    expect(await valueOf(signCode)).toEqual([
      'f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8',
      true,
      false,
    ]);
  });

  it('include timers, which fire in order of time and can be cancelled', async () => {
    const code = `const seen = []; setTimeout(() => seen.push("late"), 300); const t = setTimeout(() => seen.push("never"), 1); clearTimeout(t);
      setImmediate(() => seen.push("immediate")); queueMicrotask(() => seen.push("microtask"));
      await new Promise((r) => setTimeout(r, 400));
      let n = 0; await new Promise((r) => { const i = setInterval(() => { if (++n === 2) { clearInterval(i); r() } }, 1) });
      return [seen, n]`;
    expect(await valueOf(code)).toEqual([['microtask', 'immediate', 'late'], 2]);
  });

  it('include structuredClone, atob, btoa and Buffer', async () => {
    expect(
      await valueOf(
        'const a = { d: new Date(5), m: new Map([[1, 2]]) }; a.self = a; const b = structuredClone(a); return [b.self === b, b !== a, b.d.getTime(), b.m.get(1)]',
      ),
    ).toEqual([true, true, 5, 2]);
    expect(
      await valueOf(
        'return [btoa("hi"), atob("aGk="), Buffer.from("é").toString("base64"), Buffer.concat([Buffer.from("a"), Buffer.from("b")]).toString()]',
      ),
    ).toEqual(['aGk=', 'hi', 'w6k=', 'ab']);
  });

  it('include AbortController, EventTarget and DOMException', async () => {
    const code = `const c = new AbortController(); let n = 0; c.signal.addEventListener("abort", () => n++, { once: true }); c.abort(); c.abort();
      try { c.signal.throwIfAborted() } catch (e) { return [n, e.name, e instanceof DOMException, e.code, AbortSignal.any([c.signal]).aborted] }`;
    expect(await valueOf(code)).toEqual([1, 'AbortError', true, 20, true]);
    expect(
      await valueOf(
        'const t = new EventTarget(); let x = 0; t.addEventListener("a", (e) => (x += e.detail)); t.dispatchEvent(new CustomEvent("a", { detail: 2 })); return x',
      ),
    ).toBe(2);
    const changeListenersCode = `const t = new EventTarget(); const seen = []; const second = () => seen.push("second");
      const first = () => { seen.push("first"); t.removeEventListener("e", second); t.addEventListener("e", () => seen.push("added")); };
      t.addEventListener("e", first, { once: true }); t.addEventListener("e", second);
      t.dispatchEvent(new Event("e")); const during = [...seen]; t.dispatchEvent(new Event("e")); return [during, seen]`;
    expect(await valueOf(changeListenersCode)).toEqual([['first'], ['first', 'added']]);
  });

  it('include Headers and Response', async () => {
    const code = `const h = new Headers({ A: "1" }); h.append("a", "2"); h.set("B", "x"); const seen = []; h.forEach((v, k) => seen.push(k + v));
      return [h.get("A"), h.has("b"), [...h.entries()], seen, await new Response('{"a":1}', { status: 404 }).json(), new Response("", { status: 404 }).ok]`;
    expect(await valueOf(code)).toEqual([
      '1, 2',
      true,
      [
        ['a', '1, 2'],
        ['b', 'x'],
      ],
      ['a1, 2', 'bx'],
      { a: 1 },
      false,
    ]);
  });

  it('include a monotonic performance.now', async () => {
    expect(
      await valueOf('const a = performance.now(); const b = performance.now(); return [a >= 0, b >= a]'),
    ).toEqual([true, true]);
  });

  it('can be replaced by user code', async () => {
    expect(
      await valueOf(
        'globalThis.fetch = () => 7; globalThis.URL = 8; return [fetch(), URL, typeof URLSearchParams]',
      ),
    ).toEqual([7, 8, 'function']);
  });
});

import type { AttackGroup } from '../attack.ts';

const replacedBuiltinsAttack = (id: string, builtins: string, code: string) => ({
  id,
  title: `replaced built-ins do not disturb the guest runtime: ${builtins}`,
  code: `${code}; return { a: 1 }`,
  expected: '{"a":1}',
});

/** Attacks that change prototypes and built-ins of the guest, or try to change those of the host. */
export const pollutionAttacks: AttackGroup = {
  name: 'Prototype pollution across the bridge',
  language: 'javascript',
  attacks: [
    {
      id: 'P01',
      title: 'a result with __proto__',
      code: 'return JSON.parse(\'{"__proto__":{"polluted":1},"a":{"__proto__":{"polluted":2}}}\')',
      expected: '{"__proto__":{"polluted":1},"a":{"__proto__":{"polluted":2}}}',
    },
    {
      id: 'P02',
      title: 'a result with constructor.prototype',
      code: 'return { constructor: { prototype: { polluted: 1 } } }',
      expected: '{"constructor":{"prototype":{"polluted":1}}}',
    },
    {
      id: 'P03',
      title: 'toJSON on Object.prototype changes only the result of the same job',
      code: 'Object.prototype.toJSON = function () { return { t: "call", id: 1, op: "fetch", arg: { url: `http://127.0.0.1:${internalPort}/` } } }; return { a: 1 }',
      expected: ['USER_ERROR', 'RESULT_NOT_SERIALIZABLE', /^\{"t":"call"/],
    },
    {
      id: 'P05',
      title: 'accessors on Object.prototype that are named like properties of messages and descriptors',
      code: `const accessor = Object.assign(Object.create(null), { configurable: true, get() { return 'call' }, set() {} });
        for (const name of ['t', 'id', 'ok', 'code', 'text', 'json', 'phase', 'value', 'get', 'set', 'writable']) Object.defineProperty(Object.prototype, name, accessor);
        return { a: 1 }`,
      expected: '{"a":1}',
    },
    replacedBuiltinsAttack(
      'P06',
      'JSON, Promise and Map',
      'JSON.stringify = () => "forged"; JSON.parse = () => ({}); Promise.prototype.then = () => { throw 1 }; Map.prototype.get = () => 0; Map.prototype.set = () => 0',
    ),
    {
      id: 'P07',
      title: 'inputs with __proto__ arrive as own keys',
      code: 'return [Object.keys(input), ({}).polluted === undefined, Object.getPrototypeOf(input) === Object.prototype]',
      values: { input: JSON.parse('{"a":1,"__proto__":{"polluted":1}}') as unknown },
      expected: '[["a","__proto__"],true,true]',
    },
    replacedBuiltinsAttack(
      'P09',
      'descriptors on Object.prototype',
      'Object.prototype.value = 9; Object.prototype.get = () => { throw 1 }; Object.prototype.writable = false; setTimeout(() => {}, 1); console.log("x")',
    ),
    {
      id: 'P10',
      title: 'a request whose getter changes Object.prototype',
      code: 'try { await fetch("http://10.0.0.1/", { get headers() { Object.prototype.url = `http://127.0.0.1:${internalPort}`; return null } }) } catch (e) { return e.code }',
      expected: '"EGRESS_DENIED"',
    },
    replacedBuiltinsAttack(
      'P11',
      'String, Function and Reflect',
      'String.prototype.slice = () => ({}); Function.prototype.call = () => { throw 1 }; Function.prototype.apply = () => { throw 1 }; Reflect.apply = () => { throw 1 }; console.log("a".repeat(9))',
    ),
    replacedBuiltinsAttack(
      'P12',
      'Array',
      'Array.prototype.push = () => { throw 1 }; Array.prototype[Symbol.iterator] = () => { throw 1 }; Object.defineProperty(Array.prototype, "0", { set() { throw 1 } })',
    ),
    replacedBuiltinsAttack(
      'P13',
      'Error and Object',
      'Error = null; TypeError = null; globalThis.Object = null',
    ),
    replacedBuiltinsAttack(
      'P14',
      'everything that can be deleted',
      'const { getOwnPropertyNames } = Object; const { ownKeys } = Reflect; const g = globalThis; const names = getOwnPropertyNames(g); for (let i = 0; i < names.length; i++) try { const holder = g[names[i]]?.prototype; const keys = holder ? ownKeys(holder) : []; for (let j = 0; j < keys.length; j++) try { delete holder[keys[j]] } catch {} } catch {} for (let i = 0; i < names.length; i++) try { delete g[names[i]] } catch {}',
    ),
    {
      id: 'P15',
      title: 'frozen intrinsics',
      code: 'for (const name of Object.getOwnPropertyNames(globalThis)) { try { Object.freeze(globalThis[name]); Object.freeze(globalThis[name]?.prototype) } catch {} } Object.freeze(globalThis); console.log("x"); await new Promise((r) => setTimeout(r, 1)); return crypto.randomUUID().length',
      expected: ['36', 'USER_ERROR'],
    },
    {
      id: 'P16',
      title: 'then on Object.prototype, which every await looks up',
      code: 'Object.prototype.then = function (resolve) { delete Object.prototype.then; resolve("forged") }; return { a: 1 }',
      expected: ['"forged"', '{"a":1}'],
    },
    {
      id: 'P17',
      title: 'setters for indices on Array.prototype that collect what the guest runtime stores',
      code: `const seen = []; for (let i = 0; i < 9; i++) Object.defineProperty(Array.prototype, i, { configurable: true, set(v) { seen.push(typeof v) } });
        await fetch('http://10.0.0.1/', { headers: { a: 'b' } }).catch(() => 0); setTimeout(() => 0, 0, 1, 2); return seen.filter((type) => type === 'function')`,
      expected: ['[]', 'USER_ERROR'],
    },
    {
      id: 'P18',
      title: 'a response from the host, read with a replaced JSON.parse and a polluted prototype',
      code: 'fetch; JSON.parse = () => ({ status: 200, headers: [], url: "forged" }); Object.prototype.status = 500; const r = await fetch(`http://ok.test:${externalPort}/`); return [r.status, r.url === `http://ok.test:${externalPort}/`]',
      expected: '[200,true]',
    },
  ],
};

import type { AttackGroup } from '../attack.ts';

const RUNTIME_GLOBALS = `['process', 'require', 'module', 'exports', '__dirname', '__filename', 'global', 'Deno', 'Bun', 'gc',
  'd8', 'print', 'read', 'load', 'quit', 'ShadowRealm', 'importScripts', 'Worker', 'WebAssembly', 'SharedArrayBuffer', 'Atomics']`;

/** Returns code that creates a function with `constructor`, which returns the types of four globals of Node.js. */
const functionConstructorCode = (constructor: string): string => `
  const F = ${constructor};
  if (F !== Function && F !== (async () => {}).constructor) return 'foreign';
  return await F('return typeof require + typeof process + typeof module + typeof globalThis.process')();`;
const ALL_UNDEFINED = '"undefinedundefinedundefinedundefined"';

const constructorChainAttack = (id: string, start: string, constructor: string) => ({
  id,
  title: `the constructor chain of ${start} ends in the isolate`,
  code: functionConstructorCode(constructor),
  values: { value: {} },
  expected: ALL_UNDEFINED,
});

/** Attempts to reach Node.js and the host from the isolate. */
export const hostAttacks: AttackGroup = {
  name: 'Access to the host',
  language: 'javascript',
  attacks: [
    {
      id: 'H01',
      title: 'require of Node.js',
      code: 'return require("fs").readFileSync("/etc/passwd", "utf8")',
      expected: /^USER_ERROR ReferenceError: require is not defined/,
    },
    {
      id: 'H02',
      title: 'the globals of other runtimes',
      code: `return ${RUNTIME_GLOBALS}.filter((name) => typeof globalThis[name] !== 'undefined')`,
      expected: '[]',
    },
    {
      id: 'H03',
      title: 'an environment, or ways to load native code, in a process object',
      code: 'return typeof process === "undefined" ? "none" : [typeof process.binding, typeof process.kill, typeof process.dlopen, typeof process.getBuiltinModule, JSON.stringify(process.env)]',
      expected: '"none"',
    },
    constructorChainAttack('H05', 'this', '(this?.constructor?.constructor ?? Function)'),
    {
      id: 'H06',
      title: 'import() of Node.js modules, data URLs, files and packages',
      code: `const names = ['node:fs', 'fs', 'data:text/javascript,export default 1', 'file:///etc/passwd', './child.cjs', '/etc/hostname', 'isolated-vm', '../../package.json', 'http://127.0.0.1/'];
        return await Promise.all(names.map((name) => import(name).then(() => 'LOADED ' + name, () => 'refused'))).then((all) => [...new Set(all)])`,
      expected: '["refused"]',
    },
    constructorChainAttack('H07', 'fetch', 'fetch.constructor'),
    constructorChainAttack('H08', 'console.log', 'console.log.constructor'),
    {
      id: 'H09',
      title: 'the constructor chain of an error of the host',
      code: `try { await fetch('http://10.0.0.1/'); } catch (e) {
        return [e instanceof Error, Object.getPrototypeOf(e) === Error.prototype, e.code, e.constructor.constructor('return typeof require')()] }`,
      expected: '[true,true,"EGRESS_DENIED","undefined"]',
    },
    {
      id: 'H10',
      title: 'call sites that expose receivers and functions of the guest runtime',
      code: `Error.prepareStackTrace = (e, sites) => sites; const seen = [];
        const look = () => { for (const site of new Error().stack) { const f = site.getFunction(); const t = site.getThis(); if (t !== undefined && t !== globalThis) seen.push('this'); if (f !== undefined && !String(f).includes('look')) seen.push(String(f).slice(0, 40)) } };
        look(); await new Promise((done) => setTimeout(() => { look(); done() }, 1)); return seen.filter((s) => !s.includes('anonymous'))`,
      expected: '[]',
    },
    {
      id: 'H11',
      title: 'callers and arguments of callbacks that the guest runtime calls',
      code: `const seen = []; function spy() { let caller = null; try { caller = spy.caller } catch {} if (caller !== null) seen.push(String(caller).slice(0, 60)); return 'x' }
        setTimeout(spy, 0); await new Promise((done) => setTimeout(done, 5));
        console.log({ toJSON: spy }, { toString: spy }); String({ toString: spy });
        clearTimeout({ valueOf: spy }); queueMicrotask(spy); await null;
        await fetch({ toString: spy }).catch(() => 0);
        return seen.filter((text) => !/anonymous|spy/.test(text))`,
      expected: '[]',
    },
    constructorChainAttack('H12', 'setTimeout', 'setTimeout.constructor'),
    {
      id: 'H13',
      title: 'a patched Promise.prototype.then that looks for foreign functions',
      code: `const seen = []; const then = Promise.prototype.then;
        Promise.prototype.then = new Proxy(then, { apply(t, self, args) { seen.push(args.map((f) => { try { return f?.constructor('return typeof require + typeof process')() } catch { return 'x' } }).join()); return Reflect.apply(t, self, args) } });
        await fetch('http://10.0.0.1/').catch(() => 0); return seen.filter((s) => /function|object/.test(s))`,
      expected: '[]',
    },
    {
      id: 'H14',
      title: 'an async generator whose return() throws from a then getter',
      code: `async function* g() { yield* { [Symbol.asyncIterator]: () => ({ next: async () => ({ value: 1, done: false }), return: () => ({ get then() { throw new Error('x') } }) }) } }
        try { const it = g(); await it.next(); await it.return() } catch (e) { return e.constructor.constructor('return typeof require')() } return 'done'`,
      expected: ['"undefined"', '"done"'],
    },
    {
      id: 'H15',
      title: 'inspection hooks, which the host would have to call',
      code: `const o = { [Symbol.for('nodejs.util.inspect.custom')](d, options, inspect) { return inspect ? 'reached' : 'none' }, toJSON() { return 'inert' } }; console.log(o); return o`,
      expected: '"inert"',
      stdout: /^"inert"$/,
    },
    {
      id: 'H17',
      title: 'code that closes the function around it',
      code: '}); globalThis.pwned = 1; (async () => {',
      expected: 'SYNTAX_ERROR',
    },
    {
      id: 'H17b',
      title: 'code that closes the function’s block',
      code: '} globalThis.pwned = 1; async function x() {',
      expected: 'SYNTAX_ERROR',
    },
    {
      id: 'H18',
      title: 'a source name and a source map that are paths of files',
      code: 'return 1 /* */ ; //# sourceURL=/etc/passwd\n//# sourceMappingURL=file:///etc/passwd\n<!-- html comment',
      expected: '1',
    },
    {
      id: 'H18b',
      title: 'a source name in an error that makes the host misread the stack frames',
      code: '//# sourceURL=/etc/shadow\nthrow new Error("x")',
      expected: 'USER_ERROR',
    },
    {
      id: 'H19',
      title: 'names of the guest runtime on the global object',
      code: 'return Object.getOwnPropertyNames(globalThis).filter((name) => /ivm|isolate|^reference$|externalcopy|heddle|post|bridge|host/i.test(name) && globalThis[name] !== undefined)',
      expected: '[]',
    },
    { id: 'H21', title: 'native syntax of V8', code: 'return %DebugPrint(1)', expected: 'SYNTAX_ERROR' },
    { id: 'H22', title: 'import.meta', code: 'return import.meta.url', expected: 'SYNTAX_ERROR' },
    {
      id: 'H22b',
      title: 'an import statement',
      code: 'import fs from "node:fs"',
      expected: ['SYNTAX_ERROR', 'MODULE_NOT_IN_IMAGE', 'BUILTIN_NOT_AVAILABLE'],
    },
    constructorChainAttack('H23', 'crypto.getRandomValues', 'crypto.getRandomValues.constructor'),
    constructorChainAttack('H24', 'a value', 'value.constructor.constructor'),
    constructorChainAttack('H25', 'the async function itself', '(async () => {}).constructor'),
    constructorChainAttack(
      'H26',
      'a response',
      '(await fetch(`http://ok.test:${externalPort}/`)).constructor.constructor',
    ),
    {
      id: 'H27',
      title: 'a getter of the globals, called on foreign receivers',
      code: `const out = [];
        for (const name of Object.getOwnPropertyNames(globalThis)) {
          const { get } = Object.getOwnPropertyDescriptor(globalThis, name);
          for (const self of [null, 1, {}, Object.prototype, new Proxy({}, {})]) { try { const v = get?.call(self); if (v?.constructor?.constructor?.('return typeof process')() === 'object') out.push(name) } catch {} }
        } return out`,
      expected: '[]',
    },
    {
      id: 'H28',
      title: 'species and subclasses that the guest runtime might construct',
      code: `const seen = [];
        class Spy extends Promise { constructor(run) { super(run); try { seen.push(run.constructor('return typeof process')()) } catch (e) { seen.push('x') } } }
        Object.defineProperty(Promise, Symbol.species, { get: () => Spy }); Object.defineProperty(Array, Symbol.species, { get() { seen.push('array'); return Array } });
        Promise.prototype.constructor = Spy;
        await fetch('http://10.0.0.1/').catch(() => 0); await new Promise((r) => setTimeout(r, 1)); return seen.filter((s) => s === 'object')`,
      expected: '[]',
    },
    {
      id: 'H29',
      title: 'prepareStackTrace that collects call sites of the code that compiles user code',
      code: `let sites; Error.prepareStackTrace = (e, s) => { sites ??= s; return '' };
        try { null.x } catch (e) { e.stack } try { await import('node:fs') } catch (e) { e.stack } try { (async () => {}).constructor('}') } catch (e) { e.stack }
        return (sites ?? []).map((s) => [typeof s.getEvalOrigin?.(), typeof s.getThis(), s.getFileName(), s.getScriptNameOrSourceURL()]).flat().filter((x) => /\\/(?:root|home|usr|work|dist|node_modules)/.test(String(x)))`,
      expected: '[]',
    },
    {
      id: 'H30',
      title: 'a stack that reveals the host’s paths',
      code: 'const e = new Error("x"); Error.stackTraceLimit = Infinity; const deep = new Error("y"); return [e.stack, deep.stack, await fetch("http://10.0.0.1/").catch((f) => f.stack)].filter((stack) => /\\/(?:root|home|usr|dist|node_modules)|child\\.cjs|node:/.test(stack))',
      expected: '[]',
    },
  ],
};

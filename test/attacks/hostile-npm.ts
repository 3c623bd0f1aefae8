import type { FixturePackage } from '../support/npm-registry.ts';

const pkg = (name: string, source: string, files: Record<string, string> = {}): FixturePackage => ({
  name,
  files: { 'index.js': source, ...files },
});

/** Built-ins that the guest runtime (the sandbox's own code in the isolate of a job) uses: objects with their keys. */
const BUILT_INS_CODE = `[
  [JSON, ['stringify', 'parse']], [Promise.prototype, ['then', 'catch', 'finally']], [Promise, ['resolve', 'reject']],
  [Function.prototype, ['call', 'apply', 'bind', 'toString', Symbol.hasInstance]],
  [Array.prototype, [Symbol.iterator, 'push', 'map', 'forEach', 'slice', 'join', 'shift']],
  [Map.prototype, ['get', 'set', 'has', 'delete', 'forEach', Symbol.iterator]], [Set.prototype, ['has', 'add']],
  [WeakMap.prototype, ['get', 'set', 'has']],
  [String.prototype, ['slice', 'startsWith', 'lastIndexOf', 'charCodeAt', 'replace', 'split', Symbol.iterator]],
  [RegExp.prototype, ['test', 'exec']],
  [Object, ['defineProperty', 'keys', 'create', 'freeze', 'assign', 'entries']],
  [Reflect, ['apply', 'construct', 'ownKeys', 'get']], [Date, ['now']], [Error, ['captureStackTrace']],
]`;

/** Code that defines `breakBuiltIn`, which replaces a built-in with a function that returns garbage. */
const BREAK_BUILT_IN_CODE = `const broken = function () { return 'forged'; };
const breakBuiltIn = (target, key) => { try { target[key] = broken; } catch {} };`;

/** The hostile npm packages of all images, and of builds that must fail. */
export const HOSTILE_NPM: readonly FixturePackage[] = [
  pkg(
    'replaces',
    `${BREAK_BUILT_IN_CODE} const all = ${BUILT_INS_CODE};
    for (let i = 0; i < all.length; i++) for (let j = 0; j < all[i][1].length; j++) breakBuiltIn(all[i][0], all[i][1][j]);
    globalThis.Promise = globalThis.Map = globalThis.Error = globalThis.Proxy = globalThis.String = broken;`,
  ),
  pkg(
    'pollutes',
    `const seen = (exports.seen = []);
    for (const key of ['then', 'toJSON', 'index', 'json', 'phase', 'name', 'message', 'code', 'load',
      'loaded', 'failed', 'default', 'construct', 'apply', 'constructor', '__esModule', '0', '1', 'length'])
      try {
        Object.defineProperty(Object.prototype, key, { configurable: true, get() { return undefined; },
          set(value) { seen[seen.length] = key; Object.defineProperty(this, key, { value, writable: true, configurable: true, enumerable: true }); } });
      } catch {}
    Array.prototype[3] = 'forged'; Object.prototype.polluted = 'everywhere';`,
  ),
  pkg(
    'freezes',
    `const all = [Object, Function, Array, String, Number, Promise, Map, Set, WeakMap, RegExp, Error, Date, Proxy, Symbol, ArrayBuffer, Uint8Array];
    for (const type of all) { Object.freeze(type); if (type.prototype) Object.freeze(type.prototype); }
    for (const space of [JSON, Reflect, Math, console, performance]) Object.freeze(space);`,
  ),
  pkg('seals', 'Object.preventExtensions(globalThis);'),
  pkg(
    'redefines-globals',
    `Object.defineProperty(globalThis, 'require', { configurable: false, get() { return () => 'forged'; }, set() {} });
    Object.defineProperty(globalThis, '__heddleImage', { configurable: false, writable: false, value: {} });
    exports.random = Math.random();`,
  ),
  pkg(
    'intercepts',
    `const state = (exports.state = { postType: '', globalTypes: '' });
    const own = Object.getOwnPropertyDescriptor(globalThis, '__heddle');
    const look = () => typeof WebAssembly + ' ' + typeof SharedArrayBuffer + ' ' + typeof Atomics + ' ' + typeof ArrayBuffer.prototype.resize;
    try {
      const boot = globalThis.__heddle;
      Object.defineProperty(globalThis, '__heddle', { configurable: true, writable: true, value: (post) => {
        state.postType = typeof post; state.globalTypes = look(); return boot(post); } });
    } catch {}`,
  ),
  pkg(
    'has-pending-work',
    `exports.late = []; const late = (what) => exports.late.push(what);
    exports.chance = Math.random();
    setTimeout(() => late('timer'), 1); setInterval(() => late('interval'), 1); queueMicrotask(() => late('microtask'));
    Promise.resolve().then(() => late('promise')); exports.pending = new Promise((r) => { exports.settle = r; });
    fetch('http://ok.test/').then(() => late('answer'), () => late('refused'));
    exports.gone = new FinalizationRegistry(() => late('finalizer')); exports.gone.register({}, 1);`,
  ),
  pkg(
    'promises',
    `exports.late = []; Promise.resolve().then(() => exports.late.push('promise')); queueMicrotask(() => exports.late.push('microtask'));
    exports.pending = new Promise((r) => { exports.settle = r; }); exports.started = (async () => { await null; exports.late.push('async'); })(); exports.generator = (function* () { yield 1; yield 2; })(); exports.generator.next();`,
  ),
  pkg(
    'remembers',
    `let secret; const cache = new Map(); const weak = new WeakMap(); const key = {};
    exports.keep = (value) => { secret = value; cache.set('secret', value); weak.set(key, value); globalThis.kept = value; exports.kept = value; Object.prototype.kept = value;
      module.exports.keep.kept = value; Symbol.for('kept').constructor.kept = value; RegExp('(' + value + ')').test(value); };
    exports.recall = () => [secret, cache.get('secret'), weak.get(key), globalThis.kept, exports.kept, ({}).kept, exports.keep.kept, Symbol.kept, RegExp.$1].map((value) => value || null);`,
  ),
  pkg(
    'uses-node',
    `const names = ['fs', 'fs/promises', 'child_process', 'net', 'tls', 'dns', 'http', 'https', 'http2', 'dgram', 'vm', 'v8', 'worker_threads', 'cluster',
      'module', 'inspector', 'repl', 'process', 'os'];
    const fs = require('fs'); const child = require('node:child_process'); const net = require('net'); const vm = require('vm'); const os = require('os');
    const describeResult = (act) => { try { const value = act(); return typeof value + ' ' + (value && value.length); } catch (error) { return String(error.message); } };
    exports.calls = () => [() => fs.readFileSync('/etc/passwd'), () => fs.promises.readFile('/etc/passwd'), () => child.execSync('id'), () => child.spawn('sh'),
      () => net.connect(80, '127.0.0.1'), () => vm.runInThisContext('process'), () => vm.Script('1'), () => fs.constructor.constructor('return process')()].map(describeResult);
    exports.host = () => os.hostname() + os.userInfo;
    exports.process = () => ['binding', '_linkedBinding', 'dlopen', 'mainModule', 'kill', 'exit', 'getuid', 'send', 'report', 'constructor.constructor']
      .filter((path) => path.split('.').reduce((value, key) => value == null ? value : value[key], process) !== undefined);
    exports.env = () => [Object.keys(process.env), process.argv, process.execArgv, process.execPath, process.pid, process.versions];
    exports.global = () => new Function('return typeof process + typeof global + typeof require + typeof module + typeof Deno + typeof Bun')();
    exports.dynamic = async (name) => { try { return Object.keys(await new Function('name', 'return import(name)')(name)).length; } catch (error) { return error.name; } };
    exports.bundled = async () => { try { (await import('node:fs')).readFileSync('/etc/passwd'); return 'read'; } catch (error) { return error.message; } };`,
  ),
  pkg('first-use', 'exports.sound = true;', {
    'loop.js': 'for (;;);',
    'microtasks.js': 'const go = () => Promise.resolve().then(go); go();',
    'bomb.js': 'const all = []; for (;;) all.push(new Array(10_000).fill(all.length));',
    'stack.js': 'const down = () => down() + 1; down();',
    'getter.js': `Object.defineProperty(exports, 'value', { enumerable: true, get() { for (;;); } });`,
    'proxy.js': `module.exports = new Proxy(function () {}, { get(_, key) { return key === 'then' ? undefined : module.exports; }, ownKeys() { for (;;); } });`,
    'then.js': `exports.then = (resolve) => { for (;;); };`,
    'throws.js': `throw { get message() { for (;;); }, get stack() { for (;;); }, toString() { for (;;); } };`,
    'impersonates.js': `const e = new Error('a module'); e.code = 'ERR_MODULE_NOT_IN_IMAGE'; throw e;`,
    'regexp.js': `/^(a+)+$/.test('a'.repeat(60) + 'b');`,
  }),
  pkg('then', `exports.own = 'then'; exports.default = 'forged'; exports.__esModule = 'yes';`),
  pkg('prototype', `exports.own = 'prototype'; exports.toJSON = () => { throw new Error('read') };`, {
    'constructor.js': `exports.own = 'file'; exports.polluted = 1;`,
  }),
  pkg('throws', 'throw new Error("a failure at load time");'),
  pkg(
    'hides-failures',
    `Map.prototype.forEach = () => {}; Array.prototype.push = () => 0; JSON.stringify = () => '{"failed":[],"touched":false}';
    try { __heddleImage.report = () => '{"failed":[],"touched":false}'; } catch {}
    try { Object.defineProperty(globalThis, '__heddleImage', { configurable: true, value: { ...__heddleImage, report: () => '{"failed":[],"touched":false}' } }); } catch {}`,
  ),
  pkg('rejects', `Promise.reject(new Error('nobody handles it'));`),
  pkg(
    'reports',
    `'use strict'; __heddleImage.report = () => '{"failed":[null,{"module":{"a":1}}],"touched":"x"}';`,
  ),
  pkg('loops', 'const go = () => Promise.resolve().then(go); go();'),
  pkg('allocates', 'const all = []; for (;;) all.push(new Uint8Array(1_000_000).fill(1));'),
];

import type { Attack, AttackGroup } from '../attack.ts';

const PLAIN_RESULT_CODE = 'return { list: [1, "two", null], nested: { at: [[3]] } }';
const PLAIN_RESULT_JSON = '{"list":[1,"two",null],"nested":{"at":[[3]]}}';

/** Enough time to load packages. An endless loop ends soon. */
const limits = { cpuMs: 300, wallMs: 8_000 };

const firstUseAttack = (id: string, title: string, module: string, expected: Attack['expected']): Attack => ({
  id,
  title: `at the first use of a module: ${title}`,
  image: 'combined',
  code: `const value = require('first-use/${module}.js'); return [typeof value, value.value]`,
  expected,
  limits,
});

/** Attacks of an image's packages on the guest runtime, while loading and when used. */
export const packageAttacks: AttackGroup = {
  name: 'Hostile packages of an image',
  language: 'javascript',
  attacks: [
    {
      id: 'W01',
      title: 'built-ins of the guest runtime, replaced while a package loads: a result',
      image: 'replaces',
      code: PLAIN_RESULT_CODE,
      expected: PLAIN_RESULT_JSON,
    },
    {
      id: 'W02',
      title: 'built-ins of the guest runtime, replaced while a package loads: an error',
      image: 'replaces',
      code: 'throw new TypeError("mine")',
      expected: 'USER_ERROR',
    },
    {
      id: 'W03',
      title: 'built-ins of the guest runtime, replaced while a package loads: await, the console and values',
      image: 'replaces',
      values: { input: { a: [1] } },
      code: 'console.log("said"); await null; await (async () => 1)(); return [input.a[0], typeof require("replaces")]',
      expected: '[1,"object"]',
      stdout: /said/,
    },
    {
      id: 'W04',
      title: 'properties of messages and promises on Object.prototype',
      image: 'pollutes',
      code: PLAIN_RESULT_CODE,
      expected: PLAIN_RESULT_JSON,
    },
    {
      id: 'W05',
      title: 'setters on Object.prototype that collect values of the guest runtime',
      image: 'pollutes',
      values: { index: 1, code: 2 },
      code: 'const { seen } = require("pollutes"); await null; return [seen.length, index, code, ({}).polluted, [][3]]',
      expected: '[0,1,2,"everywhere","forged"]',
    },
    {
      id: 'W06',
      title: 'frozen prototypes and built-ins',
      image: 'freezes',
      code: `await null; const all = []; all.push(1); ${PLAIN_RESULT_CODE}`,
      expected: PLAIN_RESULT_JSON,
    },
    {
      id: 'W07',
      title: 'frozen built-ins: errors, timers and host calls',
      image: 'freezes',
      code: 'await new Promise((r) => setTimeout(r, 5)); const r = await fetch(`http://ok.test:${externalPort}/`); return r.status',
      expected: ['200', 'USER_ERROR'],
    },
    {
      id: 'W08',
      title: 'the entry function of the guest runtime, replaced before it is used',
      image: 'combined',
      code: 'const { state } = require("intercepts"); return [state.postType, state.globalTypes, typeof __heddle, typeof __heddleImage]',
      expected: '["","","undefined","undefined"]',
    },
    {
      id: 'W09',
      title: 'timers, promises and responses that are pending after a package has loaded',
      image: 'has-pending-work',
      code: 'const { late } = require("has-pending-work"); await new Promise((r) => setTimeout(r, 30)); return late.filter((event) => event === "answer")',
      expected: '[]',
    },
    {
      id: 'W10',
      title: 'state of timers that a package started while it loaded',
      image: 'has-pending-work',
      earlierCode: 'require("has-pending-work").late.push("of the earlier job"); return 1',
      code: 'return require("has-pending-work").late.includes("of the earlier job")',
      expected: 'false',
    },
    {
      id: 'W11',
      title: 'promises that are pending in a snapshot',
      image: 'combined',
      earlierCode: 'require("promises").settle("of the earlier job"); return 1',
      code: 'const p = require("promises"); setTimeout(() => p.settle("mine"), 1); return [await p.pending, p.generator.next().value]',
      expected: '["mine",2]',
    },
    {
      id: 'W12',
      title: 'secrets in the state of modules, of built-ins and of the global object',
      image: 'combined',
      earlierCode: 'const r = require("remembers"); r.keep("secret"); return r.recall()',
      code: 'return require("remembers").recall()',
      expected: JSON.stringify(Array.from({ length: 9 }, () => null)),
    },
    {
      id: 'W13',
      title: 'files, processes and sockets of Node.js',
      image: 'combined',
      code: 'return require("uses-node").calls().filter((message) => !/is not available in the sandbox|not defined/.test(message))',
      expected: '[]',
    },
    {
      id: 'W14',
      title: 'process.binding and similar functions',
      image: 'combined',
      code: 'const n = require("uses-node"); return [n.process().filter((name) => name !== "constructor.constructor"), n.env(), n.global()]',
      expected: '[[],[[],[],[],null,1,{}],"undefinedundefinedfunctionundefinedundefinedundefined"]',
    },
    {
      id: 'W15',
      title: 'import() of modules that are not in the image',
      image: 'combined',
      code: 'const n = require("uses-node"); return [await n.dynamic("node:fs"), await n.dynamic("/etc/passwd"), await n.dynamic("data:text/javascript,1"), await n.bundled()]',
      expected:
        /^\["\w*Error","\w*Error","\w*Error","[^"]*(?:not available in the sandbox|is not a function)"\]$/,
    },
    firstUseAttack('W16', 'a loop', 'loop', 'TIMEOUT_CPU'),
    firstUseAttack('W17', 'endless microtasks', 'microtasks', ['TIMEOUT_CPU', '["object",null]']),
    firstUseAttack('W18', 'all memory', 'bomb', ['OUT_OF_MEMORY', 'TIMEOUT_CPU']),
    firstUseAttack('W19', 'a stack overflow', 'stack', 'USER_ERROR'),
    firstUseAttack('W20', 'a getter that loops', 'getter', 'TIMEOUT_CPU'),
    firstUseAttack('W21', 'an error whose properties loop', 'throws', 'TIMEOUT_CPU'),
    firstUseAttack('W22', 'a regular expression that backtracks', 'regexp', 'TIMEOUT_CPU'),
    {
      id: 'W23',
      title: 'at the first use of a module: an error that imitates one of the guest runtime',
      image: 'combined',
      code: 'require("first-use/impersonates.js")',
      expected: 'USER_ERROR',
    },
    {
      id: 'W24',
      title: 'at the first use of a module: a proxy whose keys loop',
      image: 'combined',
      code: 'await import("first-use/proxy.js")',
      expected: 'TIMEOUT_CPU',
      limits,
    },
    {
      id: 'W25',
      title: 'at the first use of a module: a thenable module',
      image: 'combined',
      code: 'await import("first-use/then.js")',
      expected: 'TIMEOUT_CPU',
      limits,
    },
    {
      id: 'W26',
      title: 'packages and files with the names of properties that every object has',
      image: 'combined',
      code: `const { own } = await import('then'); return [own, ...['prototype', 'then', 'prototype/constructor.js'].map((name) => require(name).own), ({}).own === undefined, ({}).polluted === undefined]`,
      expected: '["then","prototype","then","file",true,true]',
    },
    {
      id: 'W27',
      title: 'modules with the names of properties that every object has',
      image: 'combined',
      code: `return ['__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty', 'node:__proto__', 'node:constructor', '', ' ', '.', '../combined', '/'].map((name) => { try { return typeof require(name) } catch (e) { return e.code } }).filter((code) => !/^ERR_(?:MODULE_NOT_IN_IMAGE|SANDBOX_BUILTIN)$/.test(code))`,
      expected: '[]',
    },
  ],
};

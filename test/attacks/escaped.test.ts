import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type FunctionOutcome } from '@heddle/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { watchHost } from './watch.ts';

/**
 * The program of a sandbox process that user code has taken over. It reports that it is ready, and runs STATEMENT for
 * each job. `writeRaw` writes bytes to the host's channel without Node.js; `writeFrame` writes bytes as one message.
 */
const PROGRAM = `
  const { writeSync } = require('node:fs');
  const writeRaw = (bytes) => { for (let offset = 0; offset < bytes.length; ) try { offset += writeSync(3, bytes, offset) } catch (e) { if (e.code !== 'EAGAIN') throw e } };
  const writeFrame = (bytes, length = bytes.length) => { const head = Buffer.alloc(4); head.writeUInt32BE(length); writeRaw(Buffer.concat([head, bytes])) };
  const send = (message) => process.send(message);
  const done = (job, more) => ({ t: 'done', id: job.id, code: 'OK', text: '1', stdout: '', cpuMs: 1, wallMs: 1, waitedForContext: false, next: 0, rssMiB: 1, ...more });
  process.on('message', (message) => {
    if (message.t === 'boot') send({ t: 'ready', snapshot: null });
    if (message.t !== 'run') return;
    const job = message;
    STATEMENT
  });
  process.on('disconnect', () => process.exit());`;

/** Statements of the program, each with the expected outcome of the job: its JSON or its error code. */
const ATTACKS: readonly (readonly [title: string, statement: string, expected: string | RegExp])[] = [
  ['a valid result, as a control', 'send(done(job))', '1'],
  ['bytes that are not a message', 'writeFrame(Buffer.alloc(99, 0x41))', 'SANDBOX_PROTOCOL'],
  ['an empty message', 'writeFrame(Buffer.alloc(0))', 'SANDBOX_PROTOCOL'],
  ['a message longer than memory', 'writeFrame(Buffer.alloc(9), 0xfffffff0)', 'SANDBOX_PROTOCOL'],
  [
    'a message that is too deep to be read',
    'writeFrame(Buffer.concat([Buffer.from([0xff, 0x0f]), Buffer.alloc(4e6, Buffer.from([0x41, 1]))]))',
    'SANDBOX_PROTOCOL',
  ],
  [
    'a message with the maximum number of objects',
    'writeFrame(Buffer.concat([Buffer.from([0xff, 0x0f, 0x41, 0xff, 0xff, 0xff, 0x0f]), Buffer.alloc(9e7, Buffer.from([0x6f, 0x7b, 0]))]))',
    'SANDBOX_PROTOCOL',
  ],
  [
    'a message with the maximum number of properties',
    'const parts = [Buffer.from([0xff, 0x0f, 0x6f])]; for (let i = 0; i < 1e6; i++) parts.push(Buffer.from([0x22, 3, i & 127, (i >> 7) & 127, (i >> 14) & 127, 0x5f])); writeFrame(Buffer.concat([...parts, Buffer.from([0x7b, 0xc0, 0x84, 0x3d])]))',
    'SANDBOX_PROTOCOL',
  ],
  ...Object.entries({
    'a map': 'new Map([["t", "done"]])',
    'a date': 'new Date(0)',
    'a regular expression that backtracks': '/(a+)+$/',
    'a very large BigInt': 'done(job, { text: 2n ** 99999n })',
    'an error': 'new Error("x")',
    'an array': '[done(job)]',
    'an object in an unknown field': 'done(job, { more: {} })',
    'a string object instead of a string': 'done(job, { text: new String("1") })',
    'an ArrayBuffer in an unknown field': 'done(job, { a: new Uint8Array(8).buffer })',
  }).map(([title, value]) => [title, `send(${value})`, 'SANDBOX_PROTOCOL'] as const),
  [
    'a message inside the declared length of another message',
    'const text = (t) => Buffer.concat([Buffer.from([0x22, t.length]), Buffer.from(t)]); const inner = Buffer.concat([Buffer.from([0, 0, 0, 4, 0xff, 0x0f, 0x41, 0])]); writeFrame(Buffer.concat([Buffer.from([0xff, 0x0f, 0x6f]), text("t"), Buffer.from([0x22, 99]), inner]), 12); writeRaw(Buffer.alloc(99))',
    'SANDBOX_PROTOCOL',
  ],
  [
    'two results of the same job',
    'send(done(job)); send(done(job, { text: "2" })); send(done(job, { code: "TIMEOUT_CPU", text: "3" }))',
    '1',
  ],
  [
    'ids of unknown jobs',
    'for (const id of [-1, 0.5, 1e300, Number.MAX_SAFE_INTEGER, job.id + 1]) { send({ ...done(job), id, next: id }); send({ t: "enter", id }); send({ t: "waiting", id }); send({ t: "call", id, call: 1, op: "fetch", head: "{}", body: null }) } send(done(job))',
    '1',
  ],
  [
    'the same call many times',
    'for (let i = 0; i < 100; i++) send({ t: "call", id: job.id, call: 1, op: "fetch", head: JSON.stringify({ url: "http://a.test/", method: "GET", headers: [] }), body: null }); process.on("message", (m) => m.t === "answer" && send(done(job)))',
    '1',
  ],
  [
    'a call whose head has only brackets',
    'send({ t: "call", id: job.id, call: 1, op: "fetch", head: "[".repeat(5e5), body: null }); send({ t: "call", id: job.id, call: 2, op: "fetch", head: "{\\"headers\\":[" + "[],".repeat(1e7) + "1]}", body: null }); send(done(job))',
    '1',
  ],
  [
    'impossible usage numbers',
    'send(done(job, { cpuMs: -1e300, wallMs: 1e300, rssMiB: -1, next: 1e300 }))',
    '1',
  ],
  [
    'a result that is nested deeper than any parser allows',
    'send(done(job, { text: "[".repeat(2e6) + "]".repeat(2e6) }))',
    'RESULT_TOO_LARGE',
  ],
  [
    'an error with an impossible position',
    'send(done(job, { code: "GUEST_ERROR", text: JSON.stringify({ phase: "run", index: 1e15, name: 1, message: {}, stack: [], line: 1e15, column: -1 }) }))',
    'USER_ERROR',
  ],
  [
    'an exit that imitates running out of memory',
    'process.stderr.write("FATAL ERROR: JavaScript heap out of memory", () => process.exit(1))',
    'OUT_OF_MEMORY',
  ],
  [
    'half a message and an exit',
    'writeFrame(Buffer.from([0xff, 0x0f]), 99); process.exit()',
    'SANDBOX_CRASHED',
  ],
  [
    'internal messages of Node.js',
    'send({ cmd: "NODE_HANDLE_ACK" }); send({ cmd: "NODE_HANDLE", type: "constructor", msg: 1 }); send({ cmd: "NODE_HANDLE_NACK" }); send(done(job))',
    '1',
  ],
  ['a string instead of an object', 'send("done")', 'SANDBOX_PROTOCOL'],
  ['an object without a kind', 'send({ id: job.id })', 'SANDBOX_PROTOCOL'],
  ['a kind that is a property of every object', 'send({ t: "constructor" })', 'SANDBOX_PROTOCOL'],
  ['a kind that is inherited', 'send({ t: "__proto__" })', 'SANDBOX_PROTOCOL'],
  ['a second ready message', 'send({ t: "ready", snapshot: null })', 'SANDBOX_PROTOCOL'],
  ['an unknown code', 'send(done(job, { code: "EVIL" }))', 'SANDBOX_PROTOCOL'],
  ['times that are not numbers', 'send(done(job, { cpuMs: NaN, wallMs: Infinity }))', 'SANDBOX_PROTOCOL'],
  ['a result that is not JSON', 'send(done(job, { text: "{" }))', 'SANDBOX_PROTOCOL'],
  ['a result that is too long', 'send(done(job, { text: "1".repeat(5e6) }))', 'SANDBOX_PROTOCOL'],
  ['console output that is too long', 'send(done(job, { stdout: "x".repeat(5e6) }))', 'SANDBOX_PROTOCOL'],
  [
    'a result that would change prototypes',
    'send(done(job, { text: \'{"__proto__":{"polluted":1}}\' }))',
    /__proto__/,
  ],
  ['a malformed error', 'send(done(job, { code: "GUEST_ERROR", text: "[]" }))', 'SANDBOX_PROTOCOL'],
  [
    'an error with a prototype',
    'send(done(job, { code: "GUEST_ERROR", text: \'{"__proto__":{"phase":"run"},"phase":"constructor"}\' }))',
    'SANDBOX_PROTOCOL',
  ],
  [
    'a very long stack',
    'send(done(job, { code: "GUEST_ERROR", text: JSON.stringify({ phase: "run", index: -1, name: "E", message: "m", stack: " at ".repeat(3e4) }) }))',
    'USER_ERROR',
  ],
  [
    'results of unknown jobs',
    'for (let id = -5; id < 1e3; id++) if (id !== job.id) send({ ...done(job), id }); send(done(job))',
    '1',
  ],
  [
    'calls that are not allowed',
    'for (let call = 0; call < 1e3; call++) send({ t: "call", id: job.id, call, op: "exec", head: "{}", body: null })',
    'SANDBOX_PROTOCOL',
  ],
  [
    'a call of an unknown operation',
    'send({ t: "call", id: job.id, call: 1, op: "__proto__", head: "null", body: null }); process.on("message", (m) => m.t === "answer" && send(done(job, { text: JSON.stringify(m.ok) })))',
    'false',
  ],
  [
    'endless output',
    'const { writeSync: write } = require("node:fs"); try { for (let i = 0; i < 2000; i++) write(1, "x".repeat(1e5)) } catch {} send(done(job))',
    '1',
  ],
  ['no message at all', '', 'TIMEOUT_WALL'],
  ['an exit', 'process.exit(3)', 'SANDBOX_CRASHED'],
  ['an abort', 'process.abort()', /^(?:SANDBOX_CRASHED|OUT_OF_MEMORY)$/],
  [
    'endless errors',
    'for (let i = 0; i < 2000; i++) process.stderr.write("x".repeat(1e4)); send(done(job))',
    '1',
  ],
];

/** Statements that write to the pipe on which Python makes synchronous calls to the host. */
const SYNC_CALL_ATTACKS: typeof ATTACKS = [
  ['a valid request, as a control', 'ask(frame(requestOf(job))); onAnswer(() => send(done(job)))', '1'],
  [
    'bytes that are not a request',
    'ask(Buffer.concat([length(99), Buffer.alloc(99, 0x41)]))',
    'SANDBOX_PROTOCOL',
  ],
  ['an empty request', 'ask(length(0))', 'SANDBOX_PROTOCOL'],
  ['a request longer than memory', 'ask(length(0xfffffff0))', 'SANDBOX_PROTOCOL'],
  [
    'fields longer than their request',
    'ask(Buffer.concat([length(8), length(2 ** 31), length(0)]))',
    'SANDBOX_PROTOCOL',
  ],
  ['a request that is not an object', 'ask(frame([1]))', 'SANDBOX_PROTOCOL'],
  [
    'a request that would change prototypes',
    'ask(frame(JSON.parse(\'{"__proto__":{"id":1,"op":"fetch","head":"{}"}}\')))',
    'SANDBOX_PROTOCOL',
  ],
  [
    'two requests at the same time',
    'ask(Buffer.concat([frame(requestOf(job)), frame(requestOf(job))]))',
    'SANDBOX_PROTOCOL',
  ],
  [
    'fields that have only brackets',
    'ask(frame({ ...requestOf(job), more: JSON.parse("[" + "[],".repeat(6e5) + "1]") })); onAnswer(() => send(done(job)))',
    '1',
  ],
  [
    'fields that have more brackets than are allowed',
    'ask(frame({ ...requestOf(job), more: JSON.parse("[" + "[],".repeat(9e5) + "1]") }))',
    'SANDBOX_PROTOCOL',
  ],
  [
    'a request head that has only brackets',
    'ask(frame({ ...requestOf(job), head: "{\\"headers\\":[" + "[],".repeat(1.6e5) + "1]}" })); onAnswer(() => send(done(job)))',
    '1',
  ],
  [
    'requests for unknown jobs',
    'for (const id of [-1, 0, 0.5, 1e300, job.id + 1]) ask(frame({ ...requestOf(job), id })); setTimeout(() => send(done(job)), 50)',
    /^(?:1|SANDBOX_PROTOCOL)$/,
  ],
  [
    'more requests than are allowed',
    'let left = 300; const again = () => left-- > 0 ? (ask(frame(requestOf(job))), onAnswer(again)) : send(done(job)); again()',
    'SANDBOX_PROTOCOL',
  ],
  [
    'an operation that is a property of every object',
    'ask(frame({ ...requestOf(job), op: "constructor" })); onAnswer((text) => send(done(job, { text: JSON.stringify(text.includes("does not know")) })))',
    'true',
  ],
  ['half a request and an exit', 'ask(length(99)); process.exit(3)', 'SANDBOX_CRASHED'],
  ['half a request', 'ask(length(99))', 'TIMEOUT_WALL'],
  [
    'a request byte by byte',
    'const bytes = frame(requestOf(job)); for (const byte of bytes) ask(Buffer.from([byte])); onAnswer(() => send(done(job)))',
    '1',
  ],
];

/** Functions that the statements for synchronous calls use. `frame` encodes a request with these fields. */
const PIPE_FUNCTIONS = `
  const { Socket } = require('node:net');
  const pipe = new Socket({ fd: 5 }); pipe.on('error', () => undefined);
  const ask = (bytes) => pipe.write(bytes);
  const onAnswer = (go) => pipe.once('data', (data) => go(String(data)));
  const length = (n) => { const head = Buffer.alloc(4); head.writeUInt32LE(n); return head };
  const frame = (fields) => { const json = Buffer.from(JSON.stringify(fields)); return Buffer.concat([length(json.length + 4), length(json.length * 2), json]) };
  const requestOf = (job) => ({ id: job.id, op: 'fetch', head: '{}' });`;

describe.runIf(process.platform === 'linux')('a compromised process', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'heddle-escaped-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  watchHost();

  /** Writes a program that the sandbox starts instead of Node.js and that runs the statement. Returns its path. */
  function writeImpostor(statement: string, name: number | string, prelude = ''): string {
    const programPath = join(folder, `${name}.cjs`);
    const path = join(folder, `node-${name}`);
    writeFileSync(programPath, prelude + PROGRAM.replace('STATEMENT', () => statement));
    writeFileSync(path, `#!/bin/sh\nexec ${process.execPath} ${programPath}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  it.each(ATTACKS.map(([title, statement, expected], index) => ({ title, statement, expected, index })))(
    'causes no harm with $title',
    async ({ statement, expected, index }) => {
      const sandbox = createSandbox({
        maxProcesses: 1,
        execPath: writeImpostor(statement, index),
        isolation: { level: 'basic', minimum: 'basic' },
        limits: expected === 'TIMEOUT_WALL' ? { wallMs: 300, killGraceMs: 200 } : { cpuMs: 20_000 },
        fetch: () => Promise.reject(new Error('no call is a valid fetch')),
      });
      const outcome: FunctionOutcome = await sandbox.run({ runId: 'r', code: 'return 0' });
      await sandbox.close();
      expect(outcome.ok ? outcome.json : outcome.error.code).toMatch(
        typeof expected === 'string' ? new RegExp(`^${expected}$`) : expected,
      );
    },
  );

  it.each(
    SYNC_CALL_ATTACKS.map(([title, statement, expected], index) => ({ title, statement, expected, index })),
  )('causes no harm with a synchronous call: $title', async ({ statement, expected, index }) => {
    const sandbox = createSandbox({
      python: { maxProcesses: 1 },
      execPath: writeImpostor(statement, `sync-${index}`, PIPE_FUNCTIONS),
      isolation: { level: 'basic', minimum: 'basic' },
      limits: expected === 'TIMEOUT_WALL' ? { wallMs: 300, killGraceMs: 200 } : { cpuMs: 20_000 },
      fetch: () => Promise.reject(new Error('no call is a valid fetch')),
    });
    const outcome = await sandbox.run({ runId: 'r', language: 'python', code: 'return 0' });
    await sandbox.close();
    expect(outcome.ok ? outcome.json : outcome.error.code).toMatch(
      typeof expected === 'string' ? new RegExp(`^${expected}$`) : expected,
    );
  });
});

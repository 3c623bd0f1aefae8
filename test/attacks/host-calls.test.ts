import { createSandbox, type FunctionOutcome, type SandboxOptions } from '@heddle/sandbox';
import type { EgressResponse } from '@heddle/sandbox/egress';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formatOutcome } from './attack.ts';
import { sample } from '../support/scale.ts';
import { sampleLevels } from './levels.ts';
import { watchHost } from './watch.ts';

const GET_CODE = {
  javascript:
    'try { const r = await fetch("http://ok.test/"); return r.status } catch (e) { return [e.constructor === Error, e.code, e.message] }',
  python:
    'import requests\ntry:\n  return requests.get("http://ok.test/").status_code\nexcept Exception as e:\n  return [isinstance(e, requests.ConnectionError), str(e)]',
} as const;

const createResponse = (fields: Partial<EgressResponse> = {}): EgressResponse => ({
  status: 200,
  statusText: 'OK',
  url: 'http://ok.test/',
  redirected: false,
  headers: [],
  body: new Uint8Array(0),
  ...fields,
});

const THROWN_VALUES: readonly (readonly [title: string, thrownValue: unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['a string', 'a string of the host'],
  ['a symbol', Symbol('of the host')],
  ['an object', { code: 'EGRESS_DENIED', message: 'of the host' }],
  ['a function', () => 'of the host'],
];

const CYCLIC: unknown[] = [];
CYCLIC.push(CYCLIC);

describe.each(sampleLevels())('a response from the host to a job, isolation $name', ({ options }) => {
  watchHost();

  const openSandbox = (fetch: NonNullable<SandboxOptions['fetch']>) => {
    const sandbox = createSandbox({ ...options, maxProcesses: 1, python: { maxProcesses: 1 }, fetch });
    onTestFinished(() => sandbox.close());
    return sandbox;
  };

  it.each(sample(THROWN_VALUES, 3, 'values that the host throws'))(
    'becomes an error in the code if the host throws %s',
    async (_title, thrownValue) => {
      const sandbox = openSandbox(() => {
        const { promise, reject } = Promise.withResolvers<never>();
        reject(thrownValue);
        return promise;
      });
      const javascriptOutcome = await sandbox.run({ runId: 'r', code: GET_CODE.javascript });
      expect(formatOutcome(javascriptOutcome).text).toBe('[true,"FETCH_FAILED","The request failed."]');
      const pythonOutcome = await sandbox.run({ runId: 'r', language: 'python', code: GET_CODE.python });
      expect(formatOutcome(pythonOutcome).text).toBe('[true,"The request failed."]');
    },
  );

  it.each<[title: string, response: unknown]>([
    ['undefined', undefined],
    ['an object with a BigInt', createResponse({ status: 1n as never })],
    ['an object with cyclic headers', createResponse({ headers: CYCLIC as never })],
  ])('becomes an error in the code if it is %s', async (_title, response) => {
    const sandbox = openSandbox(() => Promise.resolve(response as EgressResponse));
    const javascriptOutcome = await sandbox.run({ runId: 'r', code: GET_CODE.javascript });
    expect(formatOutcome(javascriptOutcome).text).toMatch(/^\[true,"FETCH_FAILED"/);
    expect(formatOutcome(await sandbox.run({ runId: 'r', code: 'return 1' })).text).toBe('1');
  });

  it.each(['javascript', 'python'] as const)(
    'ends only its own job if it exceeds the bridge limit, in %s',
    async (language) => {
      const sandbox = openSandbox(async () => createResponse({ body: new Uint8Array(3_000_000) }));
      const limits = { bridgeChars: 2_000_000 };
      const outcome = await sandbox.run({ runId: 'r', language, code: GET_CODE[language], limits });
      expect(formatOutcome(outcome).jsonOrCode).toBe('BRIDGE_LIMIT');
      expect(formatOutcome(await sandbox.run({ runId: 'r', language, code: 'return 1' })).text).toBe('1');
    },
  );

  it('is ignored after its job has ended', async () => {
    const pendingResponders: (() => void)[] = [];
    const sandbox = openSandbox(
      () =>
        new Promise((resolve) =>
          pendingResponders.push(() => resolve(createResponse({ statusText: 'late' }))),
        ),
    );
    const lateRequestCode =
      'fetch("http://ok.test/").then(() => { console.log("late"); globalThis.late = 1 })';
    const firstOutcome: FunctionOutcome = await sandbox.run({
      runId: 'r',
      code: `${lateRequestCode}; await new Promise((r) => setTimeout(r, 20)); return 1`,
    });
    expect(firstOutcome).toMatchObject({ ok: true, json: '1', stdout: '' });
    expect(pendingResponders).toHaveLength(1);
    const nextOutcome = sandbox.run({
      runId: 'r',
      code: 'await new Promise((r) => setTimeout(r, 50)); return typeof late',
    });
    for (const respond of pendingResponders) respond();
    expect(await nextOutcome).toMatchObject({ ok: true, json: '"undefined"', stdout: '' });
  });
});

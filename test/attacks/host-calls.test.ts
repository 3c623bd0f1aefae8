import { createSandbox, type FunctionOutcome, type SandboxOptions } from '@heddle/sandbox';
import type { EgressResponse } from '@heddle/sandbox/egress';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formatOutcome } from './attack.ts';
import { sample } from '../support/scale.ts';
import { levelsAtScale } from './levels.ts';
import { watchHost } from './watch.ts';

const GET = {
  javascript:
    'try { const r = await fetch("http://ok.test/"); return r.status } catch (e) { return [e.constructor === Error, e.code, e.message] }',
  python:
    'import requests\ntry:\n  return requests.get("http://ok.test/").status_code\nexcept Exception as e:\n  return [isinstance(e, requests.ConnectionError), str(e)]',
} as const;

const responseOf = (fields: Partial<EgressResponse> = {}): EgressResponse => ({
  status: 200,
  statusText: 'OK',
  url: 'http://ok.test/',
  redirected: false,
  headers: [],
  body: new Uint8Array(0),
  ...fields,
});

const THROWN_VALUES: readonly (readonly [what: string, thrown: unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['a string', 'a string of the host'],
  ['a symbol', Symbol('of the host')],
  ['an object', { code: 'EGRESS_DENIED', message: 'of the host' }],
  ['a function', () => 'of the host'],
];

const CYCLIC: unknown[] = [];
CYCLIC.push(CYCLIC);

describe.each(levelsAtScale())('a response of the host to a job, isolation $name', ({ options }) => {
  watchHost();

  const openSandbox = (fetch: NonNullable<SandboxOptions['fetch']>) => {
    const sandbox = createSandbox({ ...options, maxProcesses: 1, python: { maxProcesses: 1 }, fetch });
    onTestFinished(() => sandbox.close());
    return sandbox;
  };

  it.each(sample(THROWN_VALUES, 3, 'values that the host throws'))(
    'becomes an error in the code if the host throws %s',
    async (_what, thrown) => {
      const sandbox = openSandbox(() => {
        const { promise, reject } = Promise.withResolvers<never>();
        reject(thrown);
        return promise;
      });
      const js = await sandbox.run({ runId: 'r', code: GET.javascript });
      expect(formatOutcome(js).text).toBe('[true,"FETCH_FAILED","The request failed."]');
      const python = await sandbox.run({ runId: 'r', language: 'python', code: GET.python });
      expect(formatOutcome(python).text).toBe('[true,"The request failed."]');
    },
  );

  it.each<[what: string, response: unknown]>([
    ['undefined', undefined],
    ['an object with a BigInt', responseOf({ status: 1n as never })],
    ['an object with cyclic headers', responseOf({ headers: CYCLIC as never })],
  ])('becomes an error in the code if it is %s', async (_what, response) => {
    const sandbox = openSandbox(() => Promise.resolve(response as EgressResponse));
    const js = await sandbox.run({ runId: 'r', code: GET.javascript });
    expect(formatOutcome(js).text).toMatch(/^\[true,"FETCH_FAILED"/);
    expect(formatOutcome(await sandbox.run({ runId: 'r', code: 'return 1' })).text).toBe('1');
  });

  it.each(['javascript', 'python'] as const)(
    'ends only its own job if it exceeds the bridge limit, in %s',
    async (language) => {
      const sandbox = openSandbox(async () => responseOf({ body: new Uint8Array(3_000_000) }));
      const limits = { bridgeChars: 2_000_000 };
      const outcome = await sandbox.run({ runId: 'r', language, code: GET[language], limits });
      expect(formatOutcome(outcome).exact).toBe('BRIDGE_LIMIT');
      expect(formatOutcome(await sandbox.run({ runId: 'r', language, code: 'return 1' })).text).toBe('1');
    },
  );

  it('is ignored after its job has ended', async () => {
    const pending: (() => void)[] = [];
    const sandbox = openSandbox(
      () => new Promise((resolve) => pending.push(() => resolve(responseOf({ statusText: 'late' })))),
    );
    const late = 'fetch("http://ok.test/").then(() => { console.log("late"); globalThis.late = 1 })';
    const first: FunctionOutcome = await sandbox.run({
      runId: 'r',
      code: `${late}; await new Promise((r) => setTimeout(r, 20)); return 1`,
    });
    expect(first).toMatchObject({ ok: true, json: '1', stdout: '' });
    expect(pending).toHaveLength(1);
    const next = sandbox.run({
      runId: 'r',
      code: 'await new Promise((r) => setTimeout(r, 50)); return typeof late',
    });
    for (const respond of pending) respond();
    expect(await next).toMatchObject({ ok: true, json: '"undefined"', stdout: '' });
  });
});

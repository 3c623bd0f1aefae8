import { afterAll, describe, expect, it } from 'vitest';
import { createSandbox } from '@heddle/sandbox';
import type { JsonObject } from '@heddle/core/blocks';
import type { ExpressionJob, ExpressionOutcome } from '@heddle/sandbox';
import { contextOf, failureOf } from '../../../../test/support/block.ts';
import type { BlockFixture } from '../../../../test/support/block.ts';
import { conditionExecutor } from './condition.ts';
import type { CodeSandbox } from './services.ts';

const sandbox = createSandbox({ maxProcesses: 1 });
afterAll(() => sandbox.close());

const target = (port: string): string => port.replace('condition-', 'to');

const decide = (fixture: BlockFixture): unknown =>
  conditionExecutor.execute(
    contextOf({ type: 'condition', ...fixture, services: { target, ...fixture.services } }),
  );

const decideInSandbox = (fixture: BlockFixture): unknown => {
  return decide({ ...fixture, services: { sandbox: async () => sandbox, ...fixture.services } });
};

const createScriptedSandbox = (
  outcome: Partial<ExpressionOutcome>,
  jobs: ExpressionJob[] = [],
): CodeSandbox => ({
  run: () => Promise.reject(new Error('no functions here')),
  evaluate: async (job) => {
    jobs.push(job);
    return {
      ok: true,
      index: -1,
      json: [],
      stdout: '',
      cpuMs: 0,
      wallMs: 0,
      ...outcome,
    } as ExpressionOutcome;
  },
});

const outputFor = (id: string): JsonObject => ({
  conditionResult: true,
  selectedPath: { blockId: `to${id}`, blockType: 'function', blockTitle: `to${id}` },
  selectedOption: id,
});
const NO_BRANCH_OUTPUT: JsonObject = { conditionResult: false, selectedPath: null, selectedOption: null };

const thresholdRows: [string, string, string][] = [
  ['c-if', 'if', '<start.n> > 30'],
  ['c-2', 'else if', '<start.n> > 20'],
  ['c-else', 'else', ''],
];

describe('a condition', () => {
  it.each([
    [35, 'c-if'],
    [25, 'c-2'],
    [5, 'c-else'],
  ])('with n=%i takes the first true row (r072–r075)', async (n, id) => {
    expect(await decideInSandbox({ conditions: thresholdRows, outputs: { Start: { n } } })).toEqual({
      output: { n, ...outputFor(id) },
      port: `condition-${id}`,
    });
  });

  it('takes no branch when no row matches and there is no else row (r077, C9)', async () => {
    expect(
      await decideInSandbox({ conditions: [['c-if', 'if', '<start.n> > 9']], outputs: { Start: { n: 1 } } }),
    ).toEqual({ output: { n: 1, ...NO_BRANCH_OUTPUT } });
  });

  it('takes an else row at its position, without calling the sandbox (r137)', async () => {
    expect(
      await decide({
        conditions: [
          ['e', ' Else ', 'true'],
          ['c-if', 'if', 'true'],
        ],
      }),
    ).toEqual({ output: outputFor('e'), port: 'condition-e' });
  });

  it('returns null as selectedPath for a branch without an edge (r079, C31)', async () => {
    const result = await decide({ conditions: [['e', 'else', '']], services: { target: () => undefined } });
    expect(result).toEqual({
      output: { conditionResult: true, selectedPath: null, selectedOption: 'e' },
      port: 'condition-e',
    });
  });

  it.each<[string, boolean]>([
    ['<start.q> === "it\'s"', true],
    ['context.q === "it\'s"', true],
    ['true // yes', true],
    ['/* x */ true', true],
    ['', false],
    ['   ', false],
    ['"<start.q>" === "it\'s"', false],
    ['{{N}} > 5 && {{W}} === "w"', true],
    ['await Promise.resolve(true)', true],
    ['/^it/.test(<start.q>)', true],
  ])('%s is %s (r082–r146)', async (expression, expected) => {
    const result = await decideInSandbox({
      conditions: [['c', 'if', expression]],
      outputs: { Start: { q: "it's" } },
      env: { N: '7', W: 'w' },
    });
    expect(result).toMatchObject({ output: { conditionResult: expected } });
  });

  it('does not copy fields that concern only the source (C36–C38)', async () => {
    const sourceFields = {
      error: 'x',
      model: 'm',
      tokens: {},
      cost: 1,
      toolCalls: [],
      providerTiming: {},
      _pauseMetadata: {},
    };
    expect(await decide({ conditions: [], outputs: { A: { ...sourceFields, content: 'kept' } } })).toEqual({
      output: { content: 'kept', ...NO_BRANCH_OUTPUT },
    });
  });

  it('works without a source (C7) and without rows (r135, C34)', async () => {
    expect(await decide({ conditions: [] })).toEqual({ output: NO_BRANCH_OUTPUT });
    expect(await decide({ params: { conditions: '' } })).toEqual({ output: NO_BRANCH_OUTPUT });
  });

  it.each([
    ['{bad', 'JSON'],
    ['{"a": 1}', 'not a list'],
  ])('fails if the conditions are not a list: %s (r134, C4)', async (conditions, message) => {
    expect(await failureOf(() => decide({ params: { conditions } }))).toMatchObject({
      code: 'CONDITION_INVALID',
      message: expect.stringContaining(message) as string,
    });
  });

  it.each([
    ['nope > 1', 'Condition "if" failed: ReferenceError: Line 1: `nope > 1` - nope is not defined'],
    ['1 +', 'Condition "if" failed: SyntaxError: '],
    ['return true', 'Condition "if" failed: SyntaxError: '],
  ])('names the failing row in its error: %s (r114, r123, r124, C5)', async (expression, message) => {
    const failure = await failureOf(() =>
      decideInSandbox({
        conditions: [
          ['a', 'else if', 'false'],
          ['c', 'if', expression],
          ['e', 'else', ''],
        ],
      }),
    );
    expect(failure).toMatchObject({
      code: 'EXPRESSION_FAILED',
      details: { branch: 'c' },
      message: expect.stringContaining(message) as string,
    });
  });

  describe('with a row whose reference cannot be resolved', () => {
    const outputs = { P: { result: 1 } };
    const declaredOutputs = { outputs: { fields: { result: { type: 'json', opaque: true } } } };
    const { lookup } = contextOf({ outputs }).services;
    const strictLookup = { ...lookup, describe: () => ({ name: 'P', type: 'function', ...declaredOutputs }) };
    const badRow: [string, string, string] = ['b', 'else if', '<p.nope> > 1'];
    const services = { lookup: strictLookup, sandbox: async () => sandbox };

    it('does not evaluate rows after the true one (r130, C15)', async () => {
      const rows: [string, string, string][] = [['a', 'if', 'true'], badRow, ['c', 'else if', 'nope.x']];
      expect(await decide({ conditions: rows, outputs, services })).toMatchObject({ port: 'condition-a' });
    });

    it('fails the block with the title of the row when it is evaluated, despite an else row (r122)', async () => {
      const rows: [string, string, string][] = [['a', 'if', 'false'], badRow, ['e', 'else', '']];
      const failure = await failureOf(() => decide({ conditions: rows, outputs, services }));
      expect(failure).toMatchObject({ code: 'REFERENCE_UNRESOLVED', retryable: false });
      expect(failure.message).toContain('Condition "else if": ');
    });
  });

  it('evaluates all rows in one call, with the time limit of expressions (C2, C12)', async () => {
    const jobs: ExpressionJob[] = [];
    await decide({
      conditions: thresholdRows,
      outputs: { Start: { n: 1 } },
      services: { sandbox: async () => createScriptedSandbox({ index: 1 }, jobs) },
    });
    expect(jobs).toHaveLength(1);
    expect(jobs[0]).toMatchObject({ mode: 'first-true', globals: {}, runId: 'run-1' });
    expect(jobs[0]?.expressions).toHaveLength(2);
  });

  it('never treats an error of the sandbox as false (C11, C21)', async () => {
    const error = {
      code: 'TIMEOUT_WALL',
      name: 'SandboxError',
      message: 'took too long',
      retryable: false,
    } as const;
    const failure = await failureOf(() =>
      decide({
        conditions: thresholdRows,
        outputs: { Start: { n: 1 } },
        services: { sandbox: async () => createScriptedSandbox({ ok: false, index: -1, error }) },
      }),
    );
    expect(failure).toMatchObject({
      code: 'EXPRESSION_FAILED',
      message: 'The conditions could not be evaluated: took too long',
    });
  });
});

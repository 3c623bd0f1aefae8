import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@heddle/core/blocks';
import { inputFields } from '@heddle/core/fields';
import { contextOf, failureOf } from '../../../../test/support/block.ts';
import type { BlockFixture } from '../../../../test/support/block.ts';
import { childExecutor } from './child.ts';
import type { ChildOutcome, ChildRequest, ChildWorkflow } from './services.ts';

const CHILD: ChildWorkflow = {
  ...{ workflowId: 'wf-2', version: 1, name: 'Child', description: undefined },
  inputs: inputFields([{ name: 'topic', type: 'string' }]),
};
const COMPLETED_OUTCOME: ChildOutcome = { status: 'completed', runId: 'run-2', output: { data: 1 } };

const call = (
  params: JsonObject,
  fixture: BlockFixture & {
    outcome?: ChildOutcome;
    workflow?: ChildWorkflow | null;
    requests?: ChildRequest[];
  } = {},
): unknown => {
  const services: NonNullable<BlockFixture['services']> = {
    findChild: async () => (fixture.workflow === null ? undefined : (fixture.workflow ?? CHILD)),
    runChild: async (request: ChildRequest) => {
      fixture.requests?.push(request);
      return fixture.outcome ?? COMPLETED_OUTCOME;
    },
  };
  return childExecutor.execute(
    contextOf({ type: 'workflow_input', params: { workflowId: 'wf-2', ...params }, services, ...fixture }),
  );
};

const inputOf = async (params: JsonObject, fixture: Parameters<typeof call>[1] = {}): Promise<unknown> => {
  const requests: ChildRequest[] = [];
  await call(params, { ...fixture, requests });
  return requests[0]?.input;
};

describe('a child workflow', () => {
  it('returns its output as `result` (H14)', async () => {
    expect(await call({})).toEqual({
      output: { success: true, childWorkflowName: 'Child', childWorkflowId: 'wf-2', result: { data: 1 } },
    });
  });

  it('receives the mapped inputs, from text or an object, without undeclared keys', async () => {
    const outputs = { A: { t: 'x "y"', n: 3 } };
    expect(await inputOf({ inputMapping: { topic: '<a.t>', other: 1 } }, { outputs })).toEqual({
      topic: 'x "y"',
    });
    expect(await inputOf({ inputMapping: '{"topic": <a.n>, "other": 1}' }, { outputs })).toEqual({
      topic: 3,
    });
    expect(await inputOf({ inputMapping: { any: 1 } }, { workflow: { ...CHILD, inputs: [] } })).toEqual({
      any: 1,
    });
  });

  it('receives exactly the authored input keys for all values', async () => {
    const fixture = {
      outputs: { A: { t: 'x","admin":"yes', open: '{', close: '}' } },
      workflow: { ...CHILD, inputs: [] },
    };
    const topic = fixture.outputs.A.t;
    expect(await inputOf({ inputMapping: '{"topic": "<a.t>", "bare": <a.t>}' }, fixture)).toEqual({
      topic,
      bare: topic,
    });
    const olderBlockFixture = { ...fixture, type: 'workflow' };
    expect(await inputOf({ input: '{"topic": "<a.t>"}' }, olderBlockFixture)).toEqual({ topic });
    expect(await inputOf({ input: '<a.open><a.close>' }, olderBlockFixture)).toBe('{}');
  });

  it('receives `input` unchanged if the block is of the older type', async () => {
    const fixture = { type: 'workflow', outputs: { A: { o: { p: 1 } } } };
    expect(await inputOf({ input: '<a.o>' }, fixture)).toEqual({ p: 1 });
    expect(await inputOf({ input: '{"q": 2}' }, fixture)).toEqual({ q: 2 });
    expect(await inputOf({ input: 'text' }, fixture)).toBe('text');
    expect(await inputOf({}, fixture)).toEqual({});
  });

  it('fails its block without a retry if its run fails; the error names workflow and block (H15)', async () => {
    const outcome: ChildOutcome = {
      status: 'failed',
      runId: 'run-2',
      error: { code: 'BLOCK_FAILED', message: 'boom', blockName: 'F' },
    };
    expect(await failureOf(() => call({}, { outcome }))).toMatchObject({
      code: 'CHILD_FAILED',
      retryable: false,
      message: 'The workflow "Child" failed: F: boom',
      details: { chain: ['Child'], cause: 'F: boom', childRunId: 'run-2' },
    });
  });

  it('reports the whole chain of workflows when its own child fails', async () => {
    const error = {
      code: 'CHILD_FAILED',
      message: 'long',
      blockName: 'W',
      details: { chain: ['B', 'C'], cause: 'F: boom' },
    };
    expect(
      await failureOf(() => call({}, { outcome: { status: 'failed', runId: 'r', error } })),
    ).toMatchObject({
      message: 'The workflows "Child" → "B" → "C" failed: F: boom',
      details: { chain: ['Child', 'B', 'C'], cause: 'F: boom' },
    });
  });

  it('fails its block if its run is cancelled', async () => {
    expect(await failureOf(() => call({}, { outcome: { status: 'cancelled', runId: 'r' } }))).toMatchObject({
      code: 'CHILD_FAILED',
      message: expect.stringContaining('cancelled') as string,
    });
  });

  it('needs a workflow id (H2) of an existing workflow (H4)', async () => {
    expect(await failureOf(() => call({ workflowId: '' }))).toMatchObject({ code: 'BLOCK_CONFIG_INVALID' });
    expect(await failureOf(() => call({}, { workflow: null }))).toMatchObject({
      code: 'CHILD_NOT_FOUND',
      message: expect.stringContaining('"wf-2"') as string,
    });
  });

  it('refuses more than 25 levels of nesting (H3)', async () => {
    expect(await call({}, { depth: 24 })).toMatchObject({ output: { success: true } });
    expect(await failureOf(() => call({}, { depth: 25 }))).toMatchObject({ code: 'CHILD_DEPTH' });
  });

  it.each(['[1]', '{bad'])('refuses inputs that are not an object: %s', async (inputMapping) => {
    expect(await failureOf(() => call({ inputMapping }))).toMatchObject({ code: 'BLOCK_CONFIG_INVALID' });
  });
});

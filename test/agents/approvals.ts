import { blocks } from '@heddle/blocks';
import type { AgentTool } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import type { Engine, EngineOptions, RunDetail } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import type { ModelResponse, ModelRequest } from '../support/model-server.ts';
import { block, parallel, workflow } from '../support/workflow.ts';

/** Opens an engine that runs blocks with these options, in this process or on workers, and closes it after the test. */
export type OpenEngine = (options: Pick<EngineOptions, 'blocks' | 'services' | 'env'>) => Promise<Engine>;

export const PAY_PARAMETERS: JsonObject = {
  type: 'object',
  properties: { to: { type: 'string' }, amount: { type: 'number', minimum: 1 } },
  required: ['to', 'amount'],
  additionalProperties: false,
};

/** Returns a call of the tool `pay`. */
export function paymentCall(to: string, amount: number) {
  return { name: 'pay', args: { to, amount } };
}

/** Returns tools that record their calls: `pay`, and `look`, which needs no approval. */
export function createRecordingTools(): { tools: AgentTool[]; recordedCalls: Json[] } {
  const recordedCalls: Json[] = [];
  const record = async (args: JsonObject): Promise<Json> => {
    recordedCalls.push(args);
    return { done: args };
  };
  const tools = [
    { id: 'pay', description: 'Pays.', parameters: PAY_PARAMETERS, run: record },
    { id: 'look', description: 'Looks.', parameters: { type: 'object' }, run: record },
  ];
  return { tools, recordedCalls };
}

/** The items of an agent's field `tools`: a person must approve calls of `pay`. */
export const TOOL_CONFIGS: JsonObject[] = [{ type: 'pay', requireApproval: true }, { type: 'look' }];

export function agent(name: string, fields: JsonObject = {}) {
  return block(name, 'agent', {
    model: 'local/scripted',
    messages: [{ role: 'user', content: 'Pay the invoices.' }],
    tools: TOOL_CONFIGS,
    ...fields,
  });
}

/**
 * Starts a model that gives these responses, one in each round. In the second round, the model first responds with
 * status 503 `totalFailures` times. Returns the server, the options of an engine that uses the model, and the recorded
 * tool calls.
 */
export async function startPaymentModel(responses: readonly ModelResponse[], totalFailures = 0) {
  let failureCount = 0;
  const server = await startModelServer((request) => {
    const round = roundOf(request);
    if (round === 2 && failureCount++ < totalFailures)
      return { status: 503, headers: { 'retry-after': '0' } };
    return responses[round - 1] ?? { text: 'Done.' };
  });
  onTestFinished(() => server.close());
  const { tools, recordedCalls } = createRecordingTools();
  return { server, options: { blocks: blocks({ tools }), services: server.services }, recordedCalls };
}

export function roundOf({ body }: ModelRequest): number {
  return (body['messages'] as { role: string }[]).filter(({ role }) => role === 'assistant').length + 1;
}

/** Returns the results of tool calls in the last request to the model. */
export function toolResultsIn(requests: readonly ModelRequest[]): string[] {
  const messages = (requests.at(-1)?.body['messages'] ?? []) as { role: string; content: string }[];
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
}

export async function getOnlyPause(engine: Engine, runId: string): Promise<RunDetail['pauses'][number]> {
  const { pauses } = await engine.getRun(runId);
  expect(pauses).toHaveLength(1);
  return pauses[0] as (typeof pauses)[number];
}

function callIdsOf({ output }: RunDetail['pauses'][number]): string[] {
  return (output as { calls: { id: string }[] }).calls.map(({ id }) => id);
}

/** Defines the tests of tool calls that need the approval of a person. */
export function describeApprovals(environment: string, openEngine: OpenEngine): void {
  describe(`${environment}, tool calls that need approval`, () => {
    it('are made as approved or edited, or are denied, and the model gets the outcome of each', async () => {
      const calls = [
        paymentCall('ada', 1),
        paymentCall('bob', 2),
        { name: 'look', args: { at: 'books' } },
        paymentCall('eve', 3),
      ];
      const { server, options, recordedCalls } = await startPaymentModel([{ toolCalls: calls }]);
      const engine = await openEngine(options);
      const { runId, result } = await engine.start({ workflow: workflow([agent('A')], ['Start -> A']) });
      expect(await result()).toMatchObject({ status: 'paused' });
      const pause = await getOnlyPause(engine, runId);
      const pendingCall = { name: 'pay', parameters: PAY_PARAMETERS };
      expect(pause).toMatchObject({ kind: 'human', blockName: 'A' });
      expect(pause.output).toEqual({
        calls: [
          { ...pendingCall, id: '1.1', arguments: { to: 'ada', amount: 1 } },
          { ...pendingCall, id: '1.2', arguments: { to: 'bob', amount: 2 } },
          { ...pendingCall, id: '1.4', arguments: { to: 'eve', amount: 3 } },
        ],
      });
      // A call that needs no approval does not wait for the approval of other calls.
      expect(recordedCalls).toEqual([{ at: 'books' }]);
      const decisions = {
        '1.1': { decision: 'approve' },
        '1.2': { decision: 'edit', arguments: { to: 'bob', amount: 20 } },
        '1.4': { decision: 'deny', reason: 'Eve is paid.' },
      };
      const { output } = await engine.resume(runId, { token: pause.token, input: { decisions } });
      expect(recordedCalls.slice(1).toSorted(byAmount)).toEqual([
        { to: 'ada', amount: 1 },
        { to: 'bob', amount: 20 },
      ]);
      const deniedCall = { success: false, result: 'A person denied this call: Eve is paid.' };
      expect(output).toMatchObject({
        content: 'Done.',
        toolCalls: {
          count: 4,
          list: [
            { arguments: { to: 'ada', amount: 1 }, success: true, approval: { decision: 'approve' } },
            {
              arguments: { to: 'bob', amount: 20 },
              success: true,
              approval: { decision: 'edit', requested: { to: 'bob', amount: 2 } },
            },
            { name: 'look', success: true },
            { ...deniedCall, approval: { decision: 'deny', reason: 'Eve is paid.' } },
          ],
        },
      });
      expect(toolResultsIn(server.requests)).toEqual([
        '{"done":{"to":"ada","amount":1}}',
        'A person changed the arguments of this call to {"to":"bob","amount":20}\n{"done":{"to":"bob","amount":20}}',
        '{"done":{"at":"books"}}',
        'A person denied this call: Eve is paid.',
      ]);
      expect(server.requests).toHaveLength(2);
    });

    it('can be decided one after another, and calls of a later round need a new approval', async () => {
      const { server, options, recordedCalls } = await startPaymentModel([
        { toolCalls: [paymentCall('ada', 1), paymentCall('bob', 2)] },
        { toolCalls: [paymentCall('ada', 1)] },
      ]);
      const engine = await openEngine(options);
      const { runId, result } = await engine.start({ workflow: workflow([agent('A')], ['Start -> A']) });
      await result();
      const firstPause = await getOnlyPause(engine, runId);
      expect(callIdsOf(firstPause)).toEqual(['1.1', '1.2']);
      const partialInput = { decisions: { '1.2': { decision: 'approve' } } };
      expect(await engine.resume(runId, { token: firstPause.token, input: partialInput })).toMatchObject({
        status: 'paused',
      });
      // Neither the same answer again nor another answer to the same pause has an effect.
      for (const input of [partialInput, { decision: 'approve' }])
        expect(await engine.resume(runId, { token: firstPause.token, input })).toMatchObject({
          status: 'paused',
        });
      const secondPause = await getOnlyPause(engine, runId);
      expect(callIdsOf(secondPause)).toEqual(['1.1']);
      expect([recordedCalls, server.requests.length]).toEqual([[{ to: 'bob', amount: 2 }], 1]);
      const { token } = secondPause;
      await expect(engine.resume(runId, { token, input: partialInput })).rejects.toMatchObject({
        code: 'RESUME_INPUT_INVALID',
      });
      expect(await engine.resume(runId, { token, input: { decision: 'deny' } })).toMatchObject({
        status: 'paused',
      });
      const thirdPause = await getOnlyPause(engine, runId);
      expect(callIdsOf(thirdPause)).toEqual(['2.1']);
      expect(await engine.getRun(runId)).toMatchObject({ resumedCount: 2 });
      const finalResult = await engine.resume(runId, {
        token: thirdPause.token,
        input: { decision: 'approve' },
      });
      expect(finalResult).toMatchObject({ status: 'completed', output: { toolCalls: { count: 3 } } });
      expect(recordedCalls).toEqual([
        { to: 'bob', amount: 2 },
        { to: 'ada', amount: 1 },
      ]);
    });

    it('belong to one agent, branch and run: a decision does not affect other calls', async () => {
      const { options, recordedCalls } = await startPaymentModel([{ toolCalls: [paymentCall('ada', 1)] }]);
      const engine = await openEngine(options);
      const definition = workflow(
        [parallel('P', { parallelType: 'count', count: 2 }, agent('A'))],
        ['Start -> P -> A'],
      );
      const { runId, result } = await engine.start({ workflow: definition });
      const otherRun = await engine.start({ workflow: definition });
      await Promise.all([result(), otherRun.result()]);
      const { pauses } = await engine.getRun(runId);
      expect(pauses.map(callIdsOf)).toEqual([['1.1'], ['1.1']]);
      const token = pauses[0]?.token ?? '';
      await expect(
        engine.resume(otherRun.runId, { token, input: { decision: 'approve' } }),
      ).rejects.toMatchObject({ code: 'RESUME_POINT_NOT_FOUND' });
      await engine.resume(runId, { token, input: { decision: 'approve' } });
      await expect.poll(() => recordedCalls.length).toBe(1);
      expect((await engine.getRun(runId)).pauses).toHaveLength(1);
      expect((await engine.getRun(otherRun.runId)).pauses).toHaveLength(2);
      expect(recordedCalls).toHaveLength(1);
    });

    it('are neither approved nor made again when the agent is retried', async () => {
      // A model call is attempted four times.
      const { options, recordedCalls, server } = await startPaymentModel(
        [{ toolCalls: [paymentCall('ada', 1)] }],
        4,
      );
      const engine = await openEngine(options);
      const retry = { enabled: true, maxTries: 2, waitBetweenTriesMs: 0 };
      const definition = workflow([{ ...agent('A'), properties: { retry } }], ['Start -> A']);
      const { runId, result } = await engine.start({ workflow: definition });
      await result();
      expect(await engine.resume(runId, { input: { decision: 'approve' } })).toMatchObject({
        status: 'completed',
        output: { content: 'Done.', toolCalls: { count: 1 } },
      });
      expect(recordedCalls).toEqual([{ to: 'ada', amount: 1 }]);
      expect(server.requests).toHaveLength(1 + 4 + 1);
    });
  });
}

function byAmount(left: Json, right: Json): number {
  return (left as { amount: number }).amount - (right as { amount: number }).amount;
}

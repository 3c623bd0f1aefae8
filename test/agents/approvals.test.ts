import { blocks } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions, RunEvent } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { workflow } from '../support/workflow.ts';
import {
  agent,
  describeApprovals,
  paymentCall,
  startPaymentModel,
  createRecordingTools,
} from './approvals.ts';
import { describeOnStores } from './describe-on-stores.ts';

describeOnStores(describeApprovals);

async function startRun(options: EngineOptions, fields: JsonObject = {}) {
  const engine = await createEngine(options);
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const run = await engine.start({ workflow: workflow([agent('A', fields)], ['Start -> A']) });
  return { engine, run };
}

describe('the approval of tool calls', () => {
  it('refuses edited arguments that contain a secret or the placeholder of a secret', async () => {
    const { options, recordedCalls, server } = await startPaymentModel([
      { toolCalls: [paymentCall('ada', 1)] },
    ]);
    const messages = [{ role: 'user', content: 'The token is {{TOKEN}}.' }];
    const { engine, run } = await startRun({ ...options, env: { TOKEN: 'very-secret-token' } }, { messages });
    await run.result();
    const createEditInput = (to: string): Json => ({ decision: 'edit', arguments: { to, amount: 1 } });
    await expect(engine.resume(run.runId, { input: createEditInput('{{TOKEN}}') })).rejects.toMatchObject({
      code: 'RESUME_INPUT_INVALID',
    });
    const result = await engine.resume(run.runId, { input: createEditInput('very-secret-token') });
    expect(result).toMatchObject({
      status: 'completed',
      output: {
        toolCalls: {
          list: [
            {
              arguments: { to: '«redacted:TOKEN»' },
              result: expect.stringMatching(/^This call was not made: .* contain a secret/),
              success: false,
            },
          ],
        },
      },
    });
    expect(recordedCalls).toEqual([]);
    expect(JSON.stringify(server.requests[1]?.body)).toContain('This call was not made');
  });

  it('is required if the operator requires it for the tool, even if the agent does not', async () => {
    const { options, recordedCalls } = await startPaymentModel([{ toolCalls: [paymentCall('ada', 1)] }]);
    const recorder = createRecordingTools();
    const tools = recorder.tools.map((tool) => ({ ...tool, requireApproval: true }));
    const { run } = await startRun(
      { ...options, blocks: blocks({ tools }) },
      { tools: [{ type: 'pay', requireApproval: false }] },
    );
    expect(await run.result()).toMatchObject({ status: 'paused' });
    expect([recordedCalls, recorder.recordedCalls]).toEqual([[], []]);
  });

  it.each([
    ['true', 'paused'],
    [true, 'paused'],
    ['false', 'completed'],
    ['', 'completed'],
    [null, 'completed'],
  ])('depends on requireApproval: with %j, the run is %s', async (requireApproval, status) => {
    const { options } = await startPaymentModel([{ toolCalls: [paymentCall('ada', 1)] }]);
    const { run } = await startRun(options, { tools: [{ type: 'pay', requireApproval }] });
    expect(await run.result()).toMatchObject({ status });
  });

  it.each(['yes', 1, []])('fails the agent before its model call if requireApproval is %j', async (value) => {
    const { options, server } = await startPaymentModel([]);
    const { run } = await startRun(options, { tools: [{ type: 'pay', requireApproval: value }] });
    const result = await run.result();
    expect(result).toMatchObject({ status: 'failed', error: { code: 'BLOCK_CONFIG_INVALID' } });
    expect(result.error?.message).toContain(
      'a tool "pay" with an invalid "requireApproval": it must be true or false',
    );
    expect(server.requests).toEqual([]);
  });

  it('is not requested for invalid calls', async () => {
    const invalidCalls = [
      { name: 'pay', args: { to: 'ada' } },
      { name: 'refund', args: {} },
    ];
    const { options } = await startPaymentModel([{ toolCalls: invalidCalls }]);
    const { run } = await startRun(options);
    expect(await run.result()).toMatchObject({
      status: 'completed',
      output: { toolCalls: { list: [{ success: false }, { success: false }] } },
    });
  });

  it('publishes the events of each call once, when it is made', async () => {
    const calls = [{ name: 'look', args: {} }, paymentCall('ada', 1), paymentCall('bob', 2)];
    const { options } = await startPaymentModel([{ toolCalls: calls }]);
    const { engine, run } = await startRun(options);
    const eventsBefore = collectToolEvents(run.events());
    await run.result();
    const eventsAfter = collectToolEvents((await engine.attach(run.runId)).events());
    const decisions = { '1.2': { decision: 'approve' }, '1.3': { decision: 'deny' } };
    await engine.resume(run.runId, { input: { decisions } });
    expect(await eventsBefore).toEqual(['look start', 'look end']);
    expect(await eventsAfter).toEqual(['pay start', 'pay end']);
  });
});

async function collectToolEvents(events: AsyncIterable<RunEvent>): Promise<string[]> {
  const lines: string[] = [];
  for await (const event of events)
    if (event.type === 'block:emission' && event.emission.type === 'tool')
      lines.push(`${event.emission.name} ${event.emission.phase}`);
  return lines;
}

import { blocks } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import type { EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../../support/model-server.ts';
import type { ModelResponse, ModelRequest } from '../../support/model-server.ts';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { block, fn, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

const INPUT_FORMAT = [
  { name: 'topic', type: 'string', description: 'What it is about.' },
  { name: 'depth', type: 'number' },
];

/** Returns an item of the `tools` field of an agent. */
const toolItem = (workflowId: string, params: JsonObject = {}): JsonObject => ({
  type: 'workflow_input',
  toolId: 'workflow_executor',
  params: { workflowId, ...params },
});

/** Returns a workflow of one agent with these tools. */
const agentWorkflow = (tools: JsonObject[], id = 'parent') =>
  workflow(
    [block('A', 'agent', { model: 'local/scripted', messages: [{ role: 'user', content: 'Go.' }], tools })],
    ['Start -> A'],
    { id, name: id },
  );

type ToolCall = { name: string; args: Json };

/** Starts a model that makes these calls in its first response, and responds to later requests with `Done.` */
export async function startModelWithCalls(calls: readonly ToolCall[]) {
  return startModelWithResponses(({ number }) => (number === 1 ? { toolCalls: calls } : { text: 'Done.' }));
}

async function startModelWithResponses(respond: (request: ModelRequest) => ModelResponse) {
  const modelServer = await startModelServer(respond);
  onTestFinished(() => modelServer.close());
  const options: EngineOptions = { services: { local: modelServer.services.local } };
  return {
    options,
    /** Returns the tools in the first request to the model. */
    toolDefinitions: () => {
      const tools = (modelServer.requests[0]?.body['tools'] ?? []) as unknown as { function: JsonObject }[];
      return tools.map((tool) => tool.function);
    },
    requestCount: () => modelServer.requests.length,
  };
}

/** Returns the tool calls in the output of an agent. */
export function callsIn(output: Json | undefined): { name: string; result: Json; success: boolean }[] {
  return (output as { toolCalls: { list: { name: string; result: Json; success: boolean }[] } }).toolCalls
    .list;
}

/** Defines the tests of agents whose tools are workflows. Rule R24 is in docs/semantics.md. */
export function describeWorkflowTools(makeRuntime: MakeRuntime): void {
  describe('workflows as tools', () => {
    it('a workflow is a tool with its inputs as schema, and each call is a child run', async () => {
      const calls = [
        { name: 'look_it_up', args: { topic: 'wool' } },
        { name: 'look_it_up', args: { topic: 'silk' } },
        { name: 'look_it_up_2', args: { topic: 'flax' } },
      ];
      const model = await startModelWithCalls(calls);
      const engine = await makeRuntime().open({ ...model.options, blocks: blocks() });
      await engine.deploy(
        workflow([fn('F', 'return `about ${<start.topic>} ${<start.depth>}`')], ['Start -> F'], {
          ...{ id: 'child', name: 'Look it up!', description: 'Finds things.' },
          inputFormat: INPUT_FORMAT,
        }),
      );
      const presetTool = toolItem('child', { inputMapping: '{"depth": 7, "topic": ""}' });
      const result = await engine.execute({ workflow: agentWorkflow([toolItem('child'), presetTool]) });
      expect(result).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
      const properties = { topic: { type: 'string', description: 'What it is about.' } };
      expect(model.toolDefinitions()).toMatchObject([
        {
          ...{ name: 'look_it_up', description: 'Finds things.' },
          parameters: { type: 'object', properties: { ...properties, depth: { type: 'number' } } },
        },
        { name: 'look_it_up_2', parameters: { type: 'object', properties } },
      ]);
      expect(JSON.stringify(model.toolDefinitions()[1])).not.toContain('depth');
      expect(callsIn(result.output).map((call) => call.result)).toMatchObject([
        { result: 'about wool null' },
        { result: 'about silk null' },
        { result: 'about flax 7' },
      ]);
      const children = await engine.childRuns(result.runId);
      expect(children.map(({ workflowId }) => workflowId)).toEqual(['child', 'child', 'child']);
      expect(new Set(children.map(({ runId }) => runId)).size).toBe(3);
      expect(await engine.getRun(children[0]?.runId ?? '')).toMatchObject({ parentRunId: result.runId });
    });

    it('the failure of a workflow is a result that the model reads', async () => {
      const model = await startModelWithCalls([
        { name: 'fails', args: {} },
        { name: 'parent', args: {} },
        { name: 'fails', args: { n: 'many' } },
      ]);
      const engine = await makeRuntime().open({ ...model.options, blocks: blocks() });
      await engine.deploy(
        workflow([fn('F', 'throw new Error("deep")')], ['Start -> F'], {
          ...{ id: 'fails', name: 'Fails' },
          inputFormat: [{ name: 'n', type: 'number' }],
        }),
      );
      await engine.deploy(agentWorkflow([toolItem('fails'), toolItem('parent')]));
      const result = await engine.execute('parent');
      expect(result).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
      const [failedCall, cyclicCall, invalidCall] = callsIn(result.output);
      expect(failedCall).toMatchObject({
        success: false,
        result: expect.stringMatching(/"Fails" failed.*deep/),
      });
      expect(cyclicCall).toMatchObject({
        success: false,
        result: expect.stringContaining('"parent" cannot be called here'),
      });
      expect(invalidCall).toMatchObject({
        success: false,
        result: expect.stringContaining('do not match the schema'),
      });
      expect(await engine.childRuns(result.runId)).toHaveLength(1);
    });

    it('an agent with a tool for an unknown workflow fails before it calls the model', async () => {
      const model = await startModelWithCalls([]);
      const engine = await makeRuntime().open({ ...model.options, blocks: blocks() });
      const result = await engine.execute({ workflow: agentWorkflow([toolItem('nowhere')]) });
      expect(result).toMatchObject({ status: 'failed', error: { code: 'CHILD_NOT_FOUND' } });
      expect(model.requestCount()).toBe(0);
    });

    it('a workflow of another tenant cannot be a tool, neither by its id nor by its name', async () => {
      const model = await startModelWithCalls([]);
      const tenant = (id: string) => (id === 'child' ? 'theirs' : 'mine');
      const engine = await makeRuntime().open({ ...model.options, blocks: blocks(), tenant });
      await engine.deploy(workflow([], [], { id: 'child', name: 'Child of theirs' }));
      for (const id of ['child', 'Child of theirs'])
        expect(await engine.execute({ workflow: agentWorkflow([toolItem(id)]) })).toMatchObject({
          status: 'failed',
          error: { code: 'CHILD_NOT_FOUND' },
        });
      expect(model.requestCount()).toBe(0);
    });

    it('neither values nor the model change the inputs that the author has set', async () => {
      const model = await startModelWithCalls([
        { name: 'child', args: { topic: 'wool', depth: 9, admin: true } },
      ]);
      const engine = await makeRuntime().open({ ...model.options, blocks: blocks() });
      const echoBlock = fn('F', 'return [<start.topic>, <start.depth>, <start.admin>]');
      const inputFormat = [...INPUT_FORMAT, { name: 'admin', type: 'string' }];
      await engine.deploy(workflow([echoBlock], ['Start -> F'], { id: 'child', name: 'child', inputFormat }));
      const presetTool = toolItem('child', {
        inputMapping: '{"topic": "<start.q>", "depth": 3, "admin": "no"}',
      });
      const q = 'x", "admin": "yes';
      const result = await engine.execute({ workflow: agentWorkflow([presetTool]) }, { q });
      expect(model.toolDefinitions()[0]).toMatchObject({ parameters: { properties: {} } });
      expect(callsIn(result.output)[0]?.result).toMatchObject({ result: [q, 3, 'no'] });
    });

    it('the agent waits while its workflows wait for a person, and continues after the answers (R24)', async () => {
      const model = await startModelWithCalls([
        { name: 'asks', args: { q: 1 } },
        { name: 'asks', args: { q: 2 } },
        { name: 'adds', args: {} },
      ]);
      const engine = await makeRuntime().open({ ...model.options, blocks: blocks() });
      await engine.deploy(
        workflow([block('H', 'human_in_the_loop', {}), fn('F', 'return <h.n>')], ['Start -> H -> F'], {
          ...{ id: 'asks', name: 'asks' },
        }),
      );
      await engine.deploy(workflow([fn('F', 'return 1 + 1')], ['Start -> F'], { id: 'adds', name: 'adds' }));
      const run = await engine.start({ workflow: agentWorkflow([toolItem('asks'), toolItem('adds')]) });
      expect(await run.result()).toMatchObject({ status: 'paused' });
      const listPausedChildren = async () =>
        (await engine.listRuns({ status: ['paused'] })).runs.filter(
          ({ parentRunId }) => parentRunId === run.runId,
        );
      const [firstChild, secondChild] = await listPausedChildren();
      await engine.resume(firstChild?.runId ?? '', { input: { n: 5 } });
      expect(await run.result()).toMatchObject({ status: 'paused' });
      await engine.resume(secondChild?.runId ?? '', { input: { n: 6 } });
      const result = await run.result();
      expect(result).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
      const answers = callsIn(result.output).map((call) => (call.result as { result: Json }).result);
      expect(new Set(answers)).toEqual(new Set([5, 6, 2]));
      // After the answers, no call of the model or of a workflow was repeated.
      expect(model.requestCount()).toBe(2);
      expect(await engine.childRuns(run.runId)).toHaveLength(3);
    });

    it('the cost of called workflows counts towards the spending cap of the run', async () => {
      const model = await startModelWithResponses(({ number }) =>
        number === 1
          ? { toolCalls: [{ name: 'inner', args: {} }], outputTokens: 100 }
          : { text: 'Done.', outputTokens: 100 },
      );
      // Each request to the model costs a dollar.
      const prices = { 'local/scripted': { input: 0, output: 10_000 } };
      const maxCost = { run: 2.5 };
      const engine = await makeRuntime().open({ ...model.options, blocks: blocks({ prices }), maxCost });
      const pricedAgent = (name: string, tools: JsonObject[] = []) =>
        block(name, 'agent', {
          ...{ model: 'local/scripted', maxTokens: 100, tools },
          messages: [{ role: 'user', content: 'Go.' }],
        });
      await engine.deploy(workflow([pricedAgent('B')], ['Start -> B'], { id: 'inner', name: 'inner' }));
      const result = await engine.execute({
        workflow: workflow([pricedAgent('A', [toolItem('inner')])], ['Start -> A']),
      });
      expect(result).toMatchObject({ status: 'failed', error: { code: 'SPENDING_CAP_REACHED' } });
      expect(model.requestCount()).toBe(2);
    });

    it('cancelling the run cancels the workflows that its agent has called', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const model = await startModelWithCalls([{ name: 'slow', args: {} }]);
      const engine = await makeRuntime().open({
        ...model.options,
        blocks: [...blocks(), scriptedExecutor.executor],
      });
      await engine.deploy(workflow([work('W')], ['Start -> W'], { id: 'slow', name: 'slow' }));
      const run = await engine.start({ workflow: agentWorkflow([toolItem('slow')]) });
      await scriptedExecutor.nextCall('W');
      await engine.cancel(run.runId);
      await scriptedExecutor.whenAborted('W');
      expect(scriptedExecutor.abortedCalls).toEqual(['W']);
      await expect.poll(async () => (await engine.listRuns({ status: ['cancelled'] })).runs.length).toBe(2);
    });

    it('called workflows use the slot of the waiting agent, so that they run at any concurrency', async () => {
      const model = await startModelWithResponses(({ body }) => {
        const text = JSON.stringify(body['messages']);
        if (text.includes('Inner.')) return { text: 'From inside.' };
        return text.includes('From inside.')
          ? { text: 'Done.' }
          : { toolCalls: [{ name: 'inner', args: {} }] };
      });
      const engine = await makeRuntime().open({
        ...model.options,
        blocks: blocks(),
        concurrency: { engine: 1, run: 1 },
      });
      const messages = [{ role: 'user', content: 'Inner.' }];
      const innerBlock = block('B', 'agent', { model: 'local/scripted', messages });
      await engine.deploy(workflow([innerBlock], ['Start -> B'], { id: 'inner', name: 'inner' }));
      expect(await engine.execute({ workflow: agentWorkflow([toolItem('inner')]) })).toMatchObject({
        status: 'completed',
        output: { content: 'Done.' },
      });
    });
  });
}

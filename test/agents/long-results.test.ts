import { blocks } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { startModelServer } from '../support/model-server.ts';
import type { ModelResponse, ModelRequest } from '../support/model-server.ts';
import { workflow } from '../support/workflow.ts';
import { agent, paymentCall, createRecordingTools, toolResultsIn, roundOf } from './approvals.ts';

/** Numbers of five characters. The number at an offset is the offset divided by five. */
const LONG_TEXT = Array.from({ length: 10_000 }, (_, index) => String(index).padStart(5, '0')).join('');
const tools = [
  {
    id: 'dump',
    description: 'Returns long text.',
    parameters: { type: 'object' },
    run: async () => LONG_TEXT,
  },
  ...createRecordingTools().tools,
];

async function startModel(responses: readonly ModelResponse[]) {
  const server = await startModelServer((request) => responses[roundOf(request) - 1] ?? { text: 'Done.' });
  onTestFinished(() => server.close());
  return server;
}

function toolNamesIn({ body }: ModelRequest): string[] {
  return (body['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name);
}

async function runAgent(responses: readonly ModelResponse[], fields: JsonObject = {}) {
  const server = await startModel(responses);
  const engine = await createEngine({ blocks: blocks({ tools }), services: server.services });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const configs = [{ type: 'dump' }, { type: 'look' }];
  const definition = workflow([agent('A', { tools: configs, ...fields })], ['Start -> A']);
  return { result: await engine.execute({ workflow: definition }), requests: server.requests };
}

const DUMP_CALL = { name: 'dump', args: {} };

describe('a tool result that is too long for the model', () => {
  it('is shown with its beginning and end, and can be read in parts', async () => {
    const readResultCall = (args: JsonObject) => ({ name: 'read_result', args });
    const { result, requests } = await runAgent([
      { toolCalls: [DUMP_CALL] },
      {
        toolCalls: [
          readResultCall({ id: '1.1', offset: 10_000, length: 10 }),
          readResultCall({ id: '1.1', offset: 49_995 }),
          readResultCall({ id: '1.1', offset: 0 }),
          readResultCall({ id: '1.1', offset: 50_000 }),
          readResultCall({ id: '9.9', offset: 0 }),
          readResultCall({ id: '1.1', offset: -1 }),
          readResultCall({ id: '1.1', offset: 0, length: 1_000_000 }),
        ],
      },
    ]);
    expect(requests.map(toolNamesIn)).toEqual([
      ['dump', 'look'],
      ['dump', 'look', 'read_result'],
      ['dump', 'look', 'read_result'],
    ]);
    const [firstResult = '', ...parts] = toolResultsIn(requests);
    expect(firstResult).toBe(
      `${LONG_TEXT.slice(0, 10_000)}\n[30000 of 50000 characters omitted. Read them with read_result: {"id": "1.1", "offset": 10000}]\n${LONG_TEXT.slice(-10_000)}`,
    );
    expect(parts).toEqual([
      '[characters 10000 to 10010 of 50000]\n0200002001',
      '[characters 49995 to 50000 of 50000]\n09999',
      `[characters 0 to 19900 of 50000]\n${LONG_TEXT.slice(0, 19_900)}`,
      'The result has only 50000 characters.',
      'No result has this id. Use one of: 1.1.',
      expect.stringContaining('do not match the schema'),
      expect.stringContaining('do not match the schema'),
    ]);
    const { list } = (result.output as { toolCalls: { list: { result: string }[] } }).toolCalls;
    expect(list[0]?.result).toBe(LONG_TEXT);
  });

  it('is truncated at the length that the agent sets', async () => {
    const { requests } = await runAgent([{ toolCalls: [DUMP_CALL] }], { maxToolResultChars: '1000' });
    expect(toolResultsIn(requests)[0]).toMatch(
      /^(\d{500})\n\[49000 of 50000 characters omitted\..*\]\n\d{500}$/,
    );
    const { result } = await runAgent([], { maxToolResultChars: 999 });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'BLOCK_CONFIG_INVALID' } });
  });

  it('can be read by a process that did not call the tool', async () => {
    const server = await startModel([
      { toolCalls: [DUMP_CALL, paymentCall('ada', 1)] },
      { toolCalls: [{ name: 'read_result', args: { id: '1.1', offset: 20_000, length: 5 } }] },
    ]);
    const data = createDataFolder();
    const openEngine = async (toolList: typeof tools) => {
      const engine = await createEngine({
        data,
        blocks: blocks({ tools: toolList }),
        services: server.services,
      });
      onTestFinished(() => engine.close({ graceMs: 0 }));
      return engine;
    };
    const configs = [{ type: 'dump' }, { type: 'pay', requireApproval: true }];
    const definition = workflow([agent('A', { tools: configs })], ['Start -> A']);
    const firstEngine = await openEngine(tools);
    const { runId } = await firstEngine.execute({ workflow: definition });
    await firstEngine.close();
    const failingTool = { run: () => Promise.reject(new Error('Called again.')) };
    const secondEngine = await openEngine(
      tools.map((tool) => (tool.id === 'dump' ? { ...tool, ...failingTool } : tool)),
    );
    expect(await secondEngine.resume(runId, { input: { decision: 'approve' } })).toMatchObject({
      status: 'completed',
    });
    expect(toolResultsIn(server.requests).at(-1)).toBe('[characters 20000 to 20005 of 50000]\n04000');
  });
});

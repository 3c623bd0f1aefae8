import { blocks } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { startModelServer } from '../support/model-server.ts';
import type { ModelAnswer, ModelRequest } from '../support/model-server.ts';
import { workflow } from '../support/workflow.ts';
import { agent, pay, recordingTools, toolResultsIn, roundOf } from './approvals.ts';

/** Numbers of five characters. The number at an offset is the offset divided by five. */
const LONG_TEXT = Array.from({ length: 10_000 }, (_, index) => String(index).padStart(5, '0')).join('');
const tools = [
  {
    id: 'dump',
    description: 'Returns long text.',
    parameters: { type: 'object' },
    run: async () => LONG_TEXT,
  },
  ...recordingTools().tools,
];

async function modelServer(answers: readonly ModelAnswer[]) {
  const server = await startModelServer((request) => answers[roundOf(request) - 1] ?? { text: 'Done.' });
  onTestFinished(() => server.close());
  return server;
}

function toolNamesIn({ body }: ModelRequest): string[] {
  return (body['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name);
}

async function runAgent(answers: readonly ModelAnswer[], fields: JsonObject = {}) {
  const server = await modelServer(answers);
  const engine = await createEngine({ blocks: blocks({ tools }), services: server.services });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const rows = [{ type: 'dump' }, { type: 'look' }];
  const definition = workflow([agent('A', { tools: rows, ...fields })], ['Start -> A']);
  return { result: await engine.execute({ workflow: definition }), requests: server.requests };
}

const DUMP_CALL = { name: 'dump', args: {} };

describe('a tool result that is too long for the model', () => {
  it('is shown with its beginning and end, and can be read in parts', async () => {
    const read = (args: JsonObject) => ({ name: 'read_result', args });
    const { result, requests } = await runAgent([
      { tools: [DUMP_CALL] },
      {
        tools: [
          read({ id: '1.1', offset: 10_000, length: 10 }),
          read({ id: '1.1', offset: 49_995 }),
          read({ id: '1.1', offset: 0 }),
          read({ id: '1.1', offset: 50_000 }),
          read({ id: '9.9', offset: 0 }),
          read({ id: '1.1', offset: -1 }),
          read({ id: '1.1', offset: 0, length: 1_000_000 }),
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
    const { requests } = await runAgent([{ tools: [DUMP_CALL] }], { maxToolResultChars: '1000' });
    expect(toolResultsIn(requests)[0]).toMatch(
      /^(\d{500})\n\[49000 of 50000 characters omitted\..*\]\n\d{500}$/,
    );
    const { result } = await runAgent([], { maxToolResultChars: 999 });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'BLOCK_CONFIG_INVALID' } });
  });

  it('can be read by a process that did not call the tool', async () => {
    const server = await modelServer([
      { tools: [DUMP_CALL, pay('ada', 1)] },
      { tools: [{ name: 'read_result', args: { id: '1.1', offset: 20_000, length: 5 } }] },
    ]);
    const data = dataFolder();
    const openEngine = async (toolList: typeof tools) => {
      const engine = await createEngine({
        data,
        blocks: blocks({ tools: toolList }),
        services: server.services,
      });
      onTestFinished(() => engine.close({ graceMs: 0 }));
      return engine;
    };
    const rows = [{ type: 'dump' }, { type: 'pay', requireApproval: true }];
    const definition = workflow([agent('A', { tools: rows })], ['Start -> A']);
    const first = await openEngine(tools);
    const { runId } = await first.execute({ workflow: definition });
    await first.close();
    const failing = { run: () => Promise.reject(new Error('Called again.')) };
    const second = await openEngine(
      tools.map((tool) => (tool.id === 'dump' ? { ...tool, ...failing } : tool)),
    );
    expect(await second.resume(runId, { input: { decision: 'approve' } })).toMatchObject({
      status: 'completed',
    });
    expect(toolResultsIn(server.requests).at(-1)).toBe('[characters 20000 to 20005 of 50000]\n04000');
  });
});

import { blocks } from '@heddle/blocks';
import type { ToolFile } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };

/** A tool file of a host. */
const TOOL_FILE: ToolFile = {
  version: 1,
  services: {},
  tools: [],
  $defs: {},
  code: [
    {
      ...{
        id: 'double',
        description: 'Doubles a number.',
        arguments: schema,
        language: 'javascript' as const,
      },
      code: 'return { doubled: n * 2, params: Object.keys(params), other: typeof other }',
    },
    {
      ...{ id: 'mean', description: 'The mean.', language: 'python' as const, idempotent: true },
      arguments: { type: 'object', properties: { values: { type: 'array', items: { type: 'number' } } } },
      code: 'import statistics\nreturn statistics.mean(values)',
    },
    {
      ...{
        id: 'broken',
        description: 'Fails.',
        arguments: { type: 'object' },
        language: 'javascript' as const,
      },
      code: 'throw new TypeError("no such thing")',
    },
  ],
};

/** Runs an agent whose model calls these tools in one round, then answers. */
async function ask(configs: JsonObject[], calls: { name: string; args: Json }[], file = TOOL_FILE) {
  const modelServer = await startModelServer(({ number }) =>
    number === 1 ? { toolCalls: calls } : { text: 'Done.' },
  );
  onTestFinished(() => modelServer.close());
  const engine = await createEngine({
    blocks: blocks({ toolFiles: [file] }),
    services: modelServer.services,
    credentials: { openai: 'key-of-openai' },
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const messages = [{ role: 'user', content: 'Compute.' }];
  const agent = block('A', 'agent', { messages, model: 'gpt-4o', tools: configs });
  const result = await engine.execute({ workflow: workflow([agent], ['Start -> A']) });
  const { toolCalls } = (result.output ?? {}) as {
    toolCalls?: { list: { result: Json; success: boolean }[] };
  };
  return { result, calls: toolCalls?.list ?? [], offeredTools: modelServer.requests[0]?.body['tools'] };
}

describe('code in a tool file', () => {
  it('is a tool of every agent of the host, in JavaScript and Python', async () => {
    const { calls, offeredTools } = await ask(
      [{ type: 'double' }, { type: 'code', toolId: 'mean' }, { type: 'broken' }],
      [
        { name: 'double', args: { n: 21 } },
        { name: 'mean', args: { values: [1, 2, 6] } },
        { name: 'broken', args: {} },
        { name: 'double', args: { n: 'x' } },
      ],
    );
    expect(offeredTools).toMatchObject([
      { name: 'double', description: 'Doubles a number.' },
      { name: 'mean' },
      { name: 'broken' },
    ]);
    expect(calls.map(({ result }) => result)).toEqual([
      { doubled: 42, params: ['n'], other: 'undefined' },
      3,
      expect.stringContaining('no such thing'),
      expect.stringContaining('do not match the schema'),
    ]);
    expect(calls.map(({ success }) => success)).toEqual([true, true, false, false]);
  });

  it('gets arguments that the author sets, which the model does not see', async () => {
    const { calls, offeredTools } = await ask(
      [{ type: 'double', params: { n: 5 } }],
      [{ name: 'double', args: {} }],
    );
    expect(calls).toMatchObject([{ result: { doubled: 10 }, success: true }]);
    expect(offeredTools).toMatchObject([{ parameters: { properties: {} } }]);
  });

  it('keeps its own variables, even if the model sends arguments with their names', async () => {
    const { calls } = await ask(
      [{ type: 'double' }],
      [{ name: 'double', args: { n: 1, Object: null, other: 7, params: 7 } }],
    );
    expect(calls).toMatchObject([
      {
        result: { doubled: 2, params: ['n', 'Object', 'other', 'params'], other: 'undefined' },
        success: true,
      },
    ]);
  });

  it('is refused with an id that another tool has', async () => {
    const fileWithDuplicates = { ...TOOL_FILE, code: [...(TOOL_FILE.code ?? []), ...(TOOL_FILE.code ?? [])] };
    const { result } = await ask([{ type: 'double' }], [], fileWithDuplicates);
    expect(result).toMatchObject({ status: 'failed' });
    expect(result.error?.message).toContain('"double" occurs twice');
  });
});

describe('code of a tool in an agent block', () => {
  const customTool = (language: string, code: string): JsonObject => ({
    type: 'custom-tool',
    title: 'Own',
    schema: { function: { name: 'own', parameters: schema } },
    code,
    language,
  });

  it('can be Python', async () => {
    const { calls } = await ask(
      [customTool('python', 'return {"n": n ** 2, "p": params["n"]}')],
      [{ name: 'own', args: { n: 3 } }],
    );
    expect(calls).toMatchObject([{ result: { n: 9, p: 3 }, success: true }]);
  });

  it('in another language fails the block', async () => {
    const { result } = await ask([customTool('cobol', 'STOP RUN.')], []);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'BLOCK_CONFIG_INVALID' } });
    expect(result.error?.message).toContain('an invalid language: it must be javascript or python');
  });
});

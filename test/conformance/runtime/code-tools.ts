import { blocks } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { block, workflow } from '../../support/workflow.ts';
import { callsIn, startModelWithCalls } from './workflow-tools.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

/** Returns an item of the `tools` field of an agent: a tool that executes `code`. */
const tool = (name: string, code: string, overrides: JsonObject = {}): JsonObject => ({
  type: 'custom-tool',
  title: name,
  schema: { function: { name, parameters: { type: 'object', properties: { n: { type: 'number' } } } } },
  code,
  ...overrides,
});

/** Tools whose code exceeds a limit or accesses the host, and the message for the model. */
const HOSTILE_TOOLS: readonly [name: string, code: string, message: RegExp][] = [
  ['endless', 'for (;;);', /ran for more than its 1000 ms/],
  [
    'waiting',
    'await new Promise((resolve) => setTimeout(resolve, 60_000))',
    /more than its 2000 ms|within 2000 ms|time/i,
  ],
  ['hoarding', 'const all = []; for (;;) all.push(new Array(1e6).fill(0.5))', /memory/i],
  ['talkative', 'return "x".repeat(5_000_000)', /larger than|too large|characters/i],
  [
    'private',
    'return (await fetch("http://169.254.169.254/latest/meta-data/")).status',
    /169\.254\.169\.254/,
  ],
  ['host', 'return process.env.HOME', /process is not defined/],
  ['files', 'return (await import("node:fs")).readFileSync("/etc/passwd", "utf8")', /import|module/i],
];

/** Defines the tests of agents with tools whose code is part of the workflow. */
export function describeCodeTools(makeRuntime: MakeRuntime): void {
  describe('code tools', () => {
    it('run in JavaScript and Python, and return their errors to the model', async () => {
      const model = await startModelWithCalls([
        { name: 'square', args: { n: 7 } },
        { name: 'half', args: { n: 9 } },
        { name: 'broken', args: {} },
        { name: 'square', args: { n: 'many' } },
      ]);
      const engine = await makeRuntime().open({ ...model.options, blocks: blocks() });
      const tools = [
        tool('square', 'return { squared: n ** 2 }'),
        tool('half', 'return {"half": params["n"] / 2}', { language: 'python' }),
        tool('broken', 'throw new Error("no such thing")'),
      ];
      const result = await engine.execute({ workflow: agentWorkflow(tools) });
      expect(result).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
      expect(callsIn(result.output)).toMatchObject([
        { result: { squared: 49 }, success: true },
        { result: { half: 4.5 }, success: true },
        { result: expect.stringContaining('no such thing') as string, success: false },
        { result: expect.stringContaining('do not match the schema') as string, success: false },
      ]);
    });

    it('have limits on time, memory, output and network, report exceeded limits to the model, and cannot access the host', async () => {
      const model = await startModelWithCalls(HOSTILE_TOOLS.map(([name]) => ({ name, args: {} })));
      const engine = await makeRuntime().open({
        ...model.options,
        blocks: blocks(),
        sandbox: { cpuMs: 1000, wallMs: 2000, memoryMiB: 16 },
      });
      const result = await engine.execute({
        workflow: agentWorkflow(HOSTILE_TOOLS.map(([name, code]) => tool(name, code))),
      });
      expect(result).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
      const calls = callsIn(result.output);
      expect(calls.map(({ success }) => success)).toEqual(HOSTILE_TOOLS.map(() => false));
      for (const [index, [, , message]] of HOSTILE_TOOLS.entries())
        expect(calls[index]?.result).toMatch(message);
    });
  });
}

/** Returns a workflow of one agent with these tools. */
function agentWorkflow(tools: JsonObject[]): Json {
  const messages = [{ role: 'user', content: 'Go.' }];
  return workflow([block('A', 'agent', { model: 'local/scripted', messages, tools })], ['Start -> A']);
}

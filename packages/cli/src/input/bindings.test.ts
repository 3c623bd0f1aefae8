import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { createRecordingIo } from '../../../../test/support/io.ts';
import { workflowFile } from '../../../../test/support/workflow-file.ts';
import { main } from '../main.ts';
import { applyBindings, readBindings } from './bindings.ts';
import type { BindingOptions } from './bindings.ts';

const TOOLS = [{ type: 'slack', params: { channel: null } }, { type: 'mail' }];

/** Returns an exported workflow with fields that its author left empty. */
const exportedWorkflow = () =>
  workflowFile({
    blocks: {
      s1: { type: 'slack', name: 'Post to Slack', fields: { channel: null, text: 'Hi' } },
      v1: { type: 'agent', name: 'Agent v1.2', fields: { model: '', tools: TOOLS } },
      a: { type: 'router_v2', name: 'Twin' },
      b: { type: 'function', name: 'twin' },
      each: { type: 'loop', name: 'Each', data: { count: 3 } },
    },
  });

function writeBindings(value: unknown): string {
  const file = join(createDataFolder(), 'bindings.json');
  writeFileSync(file, JSON.stringify(value));
  return file;
}

/** Returns the values of a block's fields after the options were applied. */
async function boundFields(options: BindingOptions, id: string): Promise<{ [field: string]: unknown }> {
  const workflow = exportedWorkflow();
  await applyBindings(workflow as unknown as Json, await readBindings(options));
  const { blocks } = workflow.state as unknown as {
    blocks: { [id: string]: { data?: object; subBlocks: { [field: string]: { value: unknown } } } };
  };
  const { data, subBlocks } = blocks[id] ?? { subBlocks: {} };
  const fields = Object.entries(subBlocks).map(([field, { value }]) => [field, value]);
  return { ...data, ...Object.fromEntries(fields) } as { [field: string]: unknown };
}

const rejectionOf = async (options: BindingOptions): Promise<{ message: string; hint?: string }> => {
  try {
    await boundFields(options, 's1');
  } catch (error) {
    return error as Error & { hint?: string };
  }
  throw new Error('no error was thrown');
};

describe('values for fields', () => {
  it.each<[set: string, id: string, fields: object]>([
    ['Post to Slack.channel="C1"', 's1', { channel: 'C1', text: 'Hi' }],
    ['posttoslack.channel="C1"', 's1', { channel: 'C1' }],
    ['s1.text={"a": "b=c"}', 's1', { text: { a: 'b=c' } }],
    ['Agent v1.2.model="gpt-5-mini"', 'v1', { model: 'gpt-5-mini' }],
    ['a.context="x"', 'a', { context: 'x' }],
    ['Each.count=7', 'each', { count: 7 }],
    ['Each.collection=[1]', 'each', { collection: [1], count: 3 }],
    [
      'v1.tools.0.params.channel="C1"',
      'v1',
      { tools: [{ type: 'slack', params: { channel: 'C1' } }, TOOLS[1]] },
    ],
    ['v1.tools.1.params={"to": "x"}', 'v1', { tools: [TOOLS[0], { type: 'mail', params: { to: 'x' } }] }],
  ])('are filled in: %s', async (set, id, fields) => {
    expect(await boundFields({ set: [set] }, id)).toMatchObject(fields);
  });

  it('come from files and single options, which take precedence', async () => {
    const file = writeBindings({ 'Post to Slack': { channel: 'C1', text: 'Hello' }, v1: { model: 'gpt-5' } });
    const options = { bindings: [file], set: ['s1.channel="C2"'] };
    expect(await boundFields(options, 's1')).toEqual({ channel: 'C2', text: 'Hello' });
    expect(await boundFields(options, 'v1')).toMatchObject({ model: 'gpt-5' });
  });

  it('can be set inside JSON text', async () => {
    const set = ['v1.tools="[{\\"type\\": \\"x\\"}]"', 'v1.tools.0.type="y"'];
    expect(await boundFields({ set }, 'v1')).toMatchObject({ tools: [{ type: 'y' }] });
  });

  it.each<[set: string, message: string, hint: RegExp]>([
    [
      'Post to Slak.channel="C1"',
      '--set: the workflow has no block "Post to Slak".',
      /Did you mean "Post to Slack"\?/,
    ],
    [
      'Agent v1.3.tools.0.x=1',
      '--set: the workflow has no block "Agent v1.3".',
      /Did you mean "Agent v1\.2"\?/,
    ],
    [
      'Nobody.x=1',
      '--set: the workflow has no block "Nobody".',
      /The blocks are: Post to Slack, Agent v1\.2, /,
    ],
    ['s1.chanel="C1"', '--set: the block of "s1.chanel" has no field "chanel".', /Did you mean "channel"\?/],
    [
      'a.nothing=1',
      '--set: the block of "a.nothing" has no field "nothing".',
      /The fields are: context, routes, model/,
    ],
    ['TWIN.model=1', '--set: 2 blocks are named "TWIN".', /Use the id of one: a, b\./],
    [
      's1.channel=C1',
      'The value of --set s1.channel is not JSON.',
      /A string needs double quotes: --set 's1\.channel="TEXT"'/,
    ],
    ['s1.channel={"a"', 'The value of --set s1.channel is not JSON.', /^Example: /],
    ['s1="C1"', '--set s1=… is not BLOCK.FIELD=JSON.', /^Example: --set 'Slack\.channel=/],
    ['channel', '--set is not BLOCK.FIELD=JSON.', /^Example: /],
    [
      'v1.tools.2.type=1',
      '--set: there is no "2" in "v1.tools.2.type": the value is a list of length 2',
      /./,
    ],
    ['s1.text.a=1', '--set: there is no "a" in "s1.text.a": the value is neither a list nor an object', /./],
  ])('are refused: %s', async (set, message, hint) => {
    const error = await rejectionOf({ set: [set] });
    expect(error.message).toContain(message);
    expect(error.hint).toMatch(hint);
  });

  it('are not shown in errors, because they may be keys', async () => {
    for (const set of [
      's1.key=sk-secret',
      's1=sk-secret',
      'sk-secret',
      's2.key="sk-secret"',
      's1.key={"sk-secret',
    ]) {
      const { message, hint } = await rejectionOf({ set: [set] });
      expect(`${message} ${hint}`).not.toContain('secret');
    }
  });

  it.each<[content: unknown, message: RegExp]>([
    [[], /Invalid bindings in .*bindings\.json: they are not a JSON object/],
    [{ s1: 'C1' }, /the value of "s1" is not an object of fields/],
    [{ s2: { channel: 'C1' } }, /bindings\.json: the workflow has no block "s2"/],
  ])('are refused in a file: %j', async (content, message) => {
    expect((await rejectionOf({ bindings: [writeBindings(content)] })).message).toMatch(message);
  });

  it('are refused for a field named __proto__', async () => {
    const error = await rejectionOf({ set: ['s1.__proto__={"x": 1}'] });
    expect(error.message).toContain('has no field "__proto__"');
  });
});

describe('heddle plan with values for fields', () => {
  it('shows the filled workflow, and positions of problems in the unchanged file', async () => {
    const file = join(createDataFolder(), 'w.json');
    const workflow = workflowFile({
      blocks: { s: { type: 'start_trigger', name: 'Start' }, f: { name: 'Do', fields: { code: '' } } },
      edges: ['s > f'],
    });
    writeFileSync(file, JSON.stringify(workflow, null, 2));
    const io = createRecordingIo();
    expect(await main(['plan', file, '--json', '--set', 'Do.code="return 7"'], io)).toBe(0);
    expect(io.stdout.text).toContain('return 7');
    const invalidIo = createRecordingIo();
    expect(await main(['plan', file, '--json', '--set', 'Do.code="return <nobody.x>"'], invalidIo)).toBe(2);
    const { error } = JSON.parse(invalidIo.stderr.text) as {
      error: { details: { diagnostics: { code: string; line: number }[] } };
    };
    const { diagnostics } = error.details;
    expect(diagnostics[0]).toMatchObject({
      code: 'REFERENCE_UNKNOWN_BLOCK',
      line: expect.any(Number) as number,
    });
    expect(diagnostics[0]?.line).toBeGreaterThan(10);
  });
});

describe('heddle check with values for fields', () => {
  it('checks only one file', async () => {
    const file = join(createDataFolder(), 'w.json');
    const workflow = workflowFile({
      blocks: { s: { type: 'start_trigger', name: 'Start' }, f: { name: 'Do', fields: { code: '' } } },
      edges: ['s > f'],
    });
    writeFileSync(file, JSON.stringify(workflow));
    const diagnosticCodes = async (...args: string[]): Promise<string[]> => {
      const io = createRecordingIo();
      await main(['check', '--json', ...args], io);
      const { diagnostics } = JSON.parse(io.stdout.text) as { diagnostics: { code: string }[] };
      return diagnostics.map(({ code }) => code);
    };
    expect(await diagnosticCodes(file)).toEqual(['FIELD_EMPTY']);
    expect(await diagnosticCodes(file, '--set', 'Do.code="return 1"')).toEqual([]);
    const io = createRecordingIo();
    expect(await main(['check', file, file, '--set', 'Do.code="return 1"'], io)).toBe(2);
    expect(io.stderr.text).toContain('--set and --bindings fill fields of one file.');
  });
});

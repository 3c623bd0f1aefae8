import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { toCurlCommand, toTestCode } from '../../packages/studio/web/run/copy-text.ts';
import { callsOf, answerOfDecisions, fieldsOfCall } from '../../packages/studio/web/run/pause-calls.ts';
import { fieldsOf } from '../../packages/studio/web/run/pause-fields.ts';
import { editsOf, topLevelBlockOf, editTargetsOf } from '../../packages/studio/web/run/rerun-edits.ts';
import type { EditTarget } from '../../packages/studio/web/run/rerun-edits.ts';
import { TOOL_CALL } from './workflows.ts';

describe('copied commands and tests', () => {
  it('quote any input as one shell word', () => {
    const input = { text: `'; touch /tmp/x; '$(id)\`id\`\\` };
    const command = toCurlCommand({ workflowId: 'a/b', input }, 'http://127.0.0.1:1').replace(
      /^curl/,
      'printf "%s\\0"',
    );
    const { stdout } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
    expect(stdout.split('\0')).toEqual([
      'http://127.0.0.1:1/api/v2/workflows/a%2Fb/execute',
      '-H',
      'X-API-Key: ',
      '-H',
      'Content-Type: application/json',
      '-d',
      JSON.stringify({ input }),
      '',
    ]);
  });

  it('keep names and values inside string literals of a test', () => {
    const name = "x'); process.exit(1); it(`${1}";
    const text = toTestCode({
      ...{ workflowId: 'w', name, input: { name }, status: 'failed', output: undefined },
      errorCode: 'BLOCK_FAILED',
    });
    expect(text).toContain(`it(${JSON.stringify(`${name} ends as failed`)}, async`);
    expect(text).toContain('"code": "BLOCK_FAILED"');
  });
});

describe('fields of a pause point', () => {
  it('have the names and types under which the engine reads the answer', () => {
    const inputFormat = [
      { name: ' amount ', type: 'number', required: true },
      { name: ' ' },
      { name: 'note', value: null },
    ];
    const fields = [
      { name: 'amount', type: 'number', description: '', required: true, initialText: '' },
      { name: 'note', type: 'string', description: '', required: false, initialText: '' },
    ];
    expect(fieldsOf(inputFormat)).toEqual(fields);
    expect(fieldsOf(JSON.stringify(inputFormat))).toEqual(fields);
  });

  it('are read from any input format without failing', () => {
    for (const format of [undefined, null, 1, '[', {}, [null, 'a', { name: 1 }]])
      expect(fieldsOf(format)).toEqual([]);
  });
});

describe('calls that wait for a decision', () => {
  it('are read from any output without failing', () => {
    for (const output of [null, 1, [], { calls: 1 }, { calls: [null, { id: 1 }] }])
      expect(callsOf(output)).toEqual([]);
    const [bareCall] = callsOf({ calls: [{ id: '1.1', name: 'f', arguments: [], parameters: 'x' }] });
    expect(bareCall).toEqual({ id: '1.1', name: 'f', arguments: {}, parameters: {} });
  });

  it('have a field for each argument, by its schema, or as JSON if the value does not match', () => {
    const fields = fieldsOfCall({ ...TOOL_CALL, arguments: { ...TOOL_CALL.arguments, urgent: 'yes' } });
    expect(fields.map(({ name, type, initialText }) => [name, type, initialText])).toEqual([
      ['to', 'string', 'ada@example.org'],
      ['urgent', 'object', '"yes"'],
      ['copies', 'number', ''],
      ['lines', 'object', '["one"]'],
    ]);
  });

  it('each need one decision', () => {
    expect(() => answerOfDecisions([TOOL_CALL], {})).toThrow('Select a decision for send_mail.');
    expect(answerOfDecisions([TOOL_CALL], { '1.2': { kind: 'deny', reason: 'no' } })).toEqual({
      decisions: { '1.2': { decision: 'deny', reason: 'no' } },
    });
    expect(() => answerOfDecisions([TOOL_CALL], { '1.2': { kind: 'edit', values: { lines: '{' } } })).toThrow(
      'lines',
    );
  });
});

describe('changes before a run starts at a block', () => {
  const blockOf = (id: string, parentId: string | null = null) => ({
    ...{ id, name: id, type: 'function', enabled: true, position: null },
    ...{ parentId, width: null, height: null, ports: [] },
  });
  const graph = {
    blocks: [blockOf('A'), blockOf('B'), blockOf('L'), blockOf('I', 'L'), blockOf('Z')],
    edges: [
      { source: 'A', target: 'B', port: 'source' },
      { source: 'B', target: 'L', port: 'source' },
      { source: 'L', target: 'I', port: 'loop-start-source' },
      { source: 'L', target: 'Z', port: 'loop-end-source' },
    ],
  };
  const [a, b, l, i, z] = graph.blocks as [Block, Block, Block, Block, Block];
  type Block = (typeof graph.blocks)[number];
  const targetTitlesOf = (block: Block) => editTargetsOf(graph, block).map(({ title }) => title);

  it('concern the input of the run, the fields of the block, or outputs of earlier blocks', () => {
    expect(targetTitlesOf(a)).toEqual(['The input of the run']);
    expect(targetTitlesOf(b)).toEqual(['The fields of B', 'The output of A']);
    expect(targetTitlesOf(l)).toEqual(['The output of B', 'The output of A']);
    expect(targetTitlesOf(z)).toEqual([
      'The fields of Z',
      'The output of L',
      'The output of B',
      'The output of A',
    ]);
    expect(topLevelBlockOf(graph, i)).toBe(l);
    const cycle = { ...graph, blocks: [blockOf('X', 'Y'), blockOf('Y', 'X')] };
    expect(topLevelBlockOf(cycle, cycle.blocks[0] as Block).id).toMatch(/X|Y/);
  });

  it('contain only changed fields, and no code', () => {
    const [fieldsTarget, outputTarget] = editTargetsOf(graph, b) as [EditTarget, EditTarget];
    const values = { code: 'return 1', url: 'a', list: [1] };
    expect(editsOf(fieldsTarget, values, JSON.stringify({ ...values, url: 'b' }))).toEqual({
      fields: { url: 'b' },
    });
    expect(editsOf(fieldsTarget, values, JSON.stringify(values))).toEqual({});
    expect(() => editsOf(fieldsTarget, values, '{"code": "return 2"}')).toThrow('Code can be changed only');
    expect(editsOf(outputTarget, {}, '{"result": 2}')).toEqual({ outputs: { A: { result: 2 } } });
    for (const text of ['[1]', 'null', '"x"'])
      expect(() => editsOf(outputTarget, {}, text)).toThrow('a JSON object');
  });
});

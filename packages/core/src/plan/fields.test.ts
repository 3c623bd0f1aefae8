import { describe, expect, it } from 'vitest';
import { code, start, workflowFile } from '../../../../test/support/workflow-file.ts';
import type { BlockSettings } from '../../../../test/support/workflow-file.ts';
import type { Json } from '../json.ts';
import { parseWorkflow } from '../schema/parse.ts';
import { checkWorkflow } from './compile.ts';

const FIELD_CODES = new Set(['FIELD_UNKNOWN', 'FIELD_VALUE', 'BLOCK_TYPE_UNKNOWN']);

/** Returns the warnings about the fields and type of `block`, which follows a block named Fetch: `CODE path: hint`. */
function fieldWarnings(block: BlockSettings, properties: { [key: string]: Json } = {}): string[] {
  const innerBlocks: { [id: string]: BlockSettings } =
    block.type === 'loop' || block.type === 'parallel' ? { in: code('', { parentId: 'b' }) } : {};
  const file = workflowFile({
    blocks: {
      s: start(),
      f: code('return 1', { name: 'Fetch' }),
      b: { name: 'Work', ...block, ...properties },
      ...innerBlocks,
    },
    edges: [
      's > f',
      'f > b',
      ...Object.keys(innerBlocks).map((id) => `b:${block.type}-start-source > ${id}`),
    ],
  });
  const { workflow, diagnostics } = parseWorkflow(file);
  return [...diagnostics, ...checkWorkflow(workflow!)]
    .filter((diagnostic) => FIELD_CODES.has(diagnostic.code))
    .map(({ severity, code: diagnosticCode, path, hint }) => {
      expect(severity).toBe('warning');
      return `${diagnosticCode} ${path.slice(2).join('.')}: ${hint}`;
    });
}

describe('a misspelled field', () => {
  it.each<[string, BlockSettings, string]>([
    [
      'of a function',
      { fields: { code: 'return 1', langauge: 'python' } },
      'subBlocks.langauge: Did you mean "language"?',
    ],
    [
      'of a request',
      { type: 'api', fields: { url: 'x', retires: 3 } },
      'subBlocks.retires: Did you mean "retries"?',
    ],
    [
      'of a request',
      { type: 'api', fields: { url: 'x', methode: 'GET' } },
      'subBlocks.methode: Did you mean "method"?',
    ],
    [
      'of a response',
      { type: 'response', fields: { datamode: 'json' } },
      'subBlocks.datamode: Did you mean "dataMode"?',
    ],
    [
      'of a wait',
      { type: 'wait', fields: { timeValeu: 1 } },
      'subBlocks.timeValeu: Did you mean "timeValue"?',
    ],
    [
      'of a condition',
      { type: 'condition', fields: { condition: '[]' } },
      'subBlocks.condition: Did you mean "conditions"?',
    ],
    [
      'of an assignment',
      { type: 'variables', fields: { variable: [] } },
      'subBlocks.variable: Did you mean "variables"?',
    ],
    [
      'of a pause',
      { type: 'human_in_the_loop', fields: { inputformat: [] } },
      'subBlocks.inputformat: Did you mean "inputFormat"?',
    ],
    [
      'of a child workflow',
      { type: 'workflow', fields: { workflowID: 'x' } },
      'subBlocks.workflowID: Did you mean "workflowId"?',
    ],
    [
      'of a loop',
      { type: 'loop', data: { lopType: 'for', count: 2 } },
      'data.lopType: Did you mean "loopType"?',
    ],
    [
      'of a parallel',
      { type: 'parallel', data: { parallelType: 'count', count: 2, batchsize: 2 } },
      'data.batchsize: Did you mean "batchSize"?',
    ],
    [
      'of a retry policy',
      { ...code('return 1'), retry: { enabled: true, maxTrys: 3 } },
      'retry.maxTrys: Did you mean "maxTries"?',
    ],
    [
      'of the block itself',
      code('return 1', { timeoutMS: 5 } as BlockSettings),
      'timeoutMS: Did you mean "timeoutMs"?',
    ],
  ])('%s is reported', (_, block, expected) => {
    expect(fieldWarnings(block)).toContain(`FIELD_UNKNOWN ${expected}`);
  });

  it('of a start is reported', () => {
    const file = workflowFile({ blocks: { s: start({ fields: { inputFormt: [{ name: 'a' }] } }) } });
    expect(checkWorkflow(parseWorkflow(file).workflow!)).toMatchObject([
      { code: 'FIELD_UNKNOWN', blockId: 's', path: ['blocks', 's', 'subBlocks', 'inputFormt'] },
    ]);
  });

  it.each<[string, BlockSettings]>([
    ['not similar to any known name', { fields: { code: 'return 1', temperature: 5, advanced: true } }],
    ['set together with the similar field', { type: 'wait', fields: { timeUnit: 'days', timeUnits: 'x' } }],
    ['a key of an editor that resembles "type"', code('return 1', { style: 'x' } as BlockSettings)],
    ['empty', { fields: { code: 'return 1', langauge: null, tiemout: '' } }],
    ['in a block that is not built in', { type: 'slack', fields: { methode: 'x', retires: 1 } }],
    [
      'a key that an editor stores in the block',
      code('return 1', { horizontalHandles: true, locked: false, height: 3 } as BlockSettings),
    ],
    [
      'a key that an editor stores in the data of a container',
      { type: 'loop', data: { count: 2, width: 3, height: 4, type: 'x', extent: 'parent' } },
    ],
  ])('is not reported if it is %s', (_, block) => {
    expect(fieldWarnings(block).filter((diagnostic) => diagnostic.startsWith('FIELD'))).toEqual([]);
  });

  it('of a block in trigger mode is not checked', () => {
    expect(fieldWarnings({ ...code('return 1'), fields: { codee: 'x' }, triggerMode: true })).toEqual([]);
  });
});

describe('a warning about the value of a field', () => {
  it.each<[string, string, Json, string]>([
    ['api', 'method', 'FETCH', 'Did you mean "PATCH"?'],
    ['api', 'method', 'PSOT', 'Did you mean "POST"?'],
    ['api', 'retries', 'many', 'Correct the value.'],
    ['api', 'timeout', -1, 'Correct the value.'],
    ['api', 'headers', '"Accept"', 'Correct the value.'],
    ['api', 'retryNonIdempotent', 'yes', 'Correct the value.'],
    ['wait', 'timeUnit', 'fortnights', 'Correct the value.'],
    ['wait', 'timeUnit', 'second', 'Did you mean "seconds"?'],
    ['wait', 'timeUnitLong', 'seconds', 'Correct the value.'],
    ['wait', 'timeValue', 'soon', 'Correct the value.'],
    ['response', 'dataMode', 'jsn', 'Did you mean "json"?'],
    ['response', 'status', '600', 'Correct the value.'],
    ['response', 'builderData', '{"a": 1}', 'Correct the value.'],
    ['variables', 'variables', '{"a": 1}', 'Correct the value.'],
    ['function', 'secretScope', 'some', 'Correct the value.'],
    ['function', 'timeout', 'long', 'Correct the value.'],
  ])('is reported for %s %s %j', (type, name, value, hint) => {
    const requiredFields: { [key: string]: Json } =
      type === 'api' ? { url: 'https://example.com' } : { code: 'return 1' };
    const warnings = fieldWarnings({ type, fields: { ...requiredFields, [name]: value } });
    expect(warnings).toContain(`FIELD_VALUE subBlocks.${name}.value: ${hint}`);
  });

  it('is reported for a start', () => {
    const file = workflowFile({ blocks: { s: start({ fields: { inputFormat: 'name: text' } }) } });
    expect(checkWorkflow(parseWorkflow(file).workflow!)).toMatchObject([
      { code: 'FIELD_VALUE', path: ['blocks', 's', 'subBlocks', 'inputFormat', 'value'] },
    ]);
  });

  it('lists the allowed values', () => {
    const file = workflowFile({
      blocks: { s: start(), w: { type: 'wait', name: 'Pause', fields: { timeUnit: 'fortnights' } } },
      edges: ['s > w'],
    });
    expect(checkWorkflow(parseWorkflow(file).workflow!)[0]?.message).toBe(
      'The field "timeUnit" of "Pause" is "fortnights"; allowed: one of seconds, minutes, hours, days.',
    );
  });

  it.each<[string, string, Json]>([
    ['api', 'method', ' post '],
    ['api', 'method', '<fetch.result.method>'],
    ['api', 'method', '{{METHOD}}'],
    ['api', 'timeout', '5000'],
    ['api', 'timeout', '<fetch.result>'],
    ['api', 'headers', '{"Accept": "x"}'],
    ['api', 'headers', 'Accept: x'],
    ['api', 'params', [{ cells: { Key: 'a', Value: '<fetch.result>' } }]],
    ['wait', 'timeValue', '0.02'],
    ['wait', 'timeUnit', null],
    ['wait', 'timeUnit', ''],
    ['wait', 'async', 'true'],
    ['response', 'status', '204'],
    ['response', 'status', 404],
    ['function', 'mountedSecrets', '["A"]'],
  ])('is not reported for %s %s %j', (type, name, value) => {
    const requiredFields: { [key: string]: Json } = type === 'api' ? { url: 'https://example.com' } : {};
    expect(fieldWarnings({ type, fields: { ...requiredFields, [name]: value } })).toEqual([]);
  });
});

describe('a type without an executor', () => {
  it.each([
    ['functon', 'Did you mean "function"?'],
    ['conditon', 'Did you mean "condition"?'],
    ['lop', 'Did you mean "loop"?'],
    ['start_triger', 'Did you mean "start_trigger"?'],
    ['nothing_like_it', 'Register an executor'],
  ])('is reported: %s, with the hint %s', (type, hint) => {
    const [warning = ''] = fieldWarnings({ type });
    expect(warning).toContain(`BLOCK_TYPE_UNKNOWN type: ${hint}`);
  });

  it('has no suggestion if it is a known type', () => {
    const file = workflowFile({ blocks: { s: start(), m: { type: 'mcp' } }, edges: ['s > m'] });
    const blockTypes = [{ type: 'mcq', class: 'compute' as const }];
    expect(checkWorkflow(parseWorkflow(file).workflow!, { blockTypes })[0]?.hint).toMatch(/^Register/);
  });
});

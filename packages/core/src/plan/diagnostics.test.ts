import { describe, expect, it } from 'vitest';
import { code, condition, start, workflowFile } from '../../../../test/support/workflow-file.ts';
import type { BlockSettings, WorkflowSettings } from '../../../../test/support/workflow-file.ts';
import type { Json, JsonObject } from '../json.ts';
import { parseWorkflow, parseWorkflowText } from '../schema/parse.ts';
import { DIAGNOSTIC_CODES } from './diagnostics.ts';
import type { DiagnosticCode, Diagnostic } from './diagnostics.ts';
import { checkWorkflow } from './compile.ts';
import type { CompileOptions } from './compile.ts';

function diagnosticsOf(input: unknown, options?: CompileOptions): Diagnostic[] {
  const { workflow, diagnostics } =
    typeof input === 'string' ? parseWorkflowText(input) : parseWorkflow(input);
  return [...diagnostics, ...(workflow ? checkWorkflow(workflow, options) : [])];
}

/** Returns a workflow with a start `s`, a block `b` after it, and the given edges. */
function withBlock(b: BlockSettings, overrides: Partial<WorkflowSettings> = {}): unknown {
  const blocks = { s: start(), b, ...overrides.blocks };
  return workflowFile({ ...overrides, blocks, edges: ['s > b', ...(overrides.edges ?? [])] });
}

const withReturn = (text: string, overrides?: Partial<WorkflowSettings>): unknown =>
  withBlock(code(`return ${text}`), overrides);
const withData = (value: Json): unknown => withBlock({ type: 'response', fields: { data: value } });
const withContainer = (data: JsonObject, type = 'loop'): unknown =>
  withBlock({ type, data }, { blocks: { in: { ...code('return 1'), parentId: 'b' } }, edges: ['b > in'] });
const withState = (state: JsonObject): unknown => withBlock(code('return 1'), { state });
const nestedLoops = (levels: number): WorkflowSettings['blocks'] =>
  Object.fromEntries(
    Array.from({ length: levels }, (_, level) => [
      `c${level}`,
      { type: 'loop', parentId: level === 0 ? 'b' : `c${level - 1}` },
    ]),
  );

/** For each code, an input with this diagnostic, and the end of its path. */
const EXAMPLES: { [code in DiagnosticCode]: [input: unknown, path: string, options?: CompileOptions] } = {
  JSON_INVALID: ['{', ''],
  INPUT_SHAPE: [{ blocks: { a: { type: 1, name: 'A' } }, edges: [] }, 'blocks.a.type'],
  INPUT_TOO_DEEP: [withState({ deep: JSON.parse('['.repeat(200) + ']'.repeat(200)) as Json }), '0.0'],
  INPUT_TOO_LARGE: [{ blocks: {}, edges: Array.from({ length: 100_001 }, () => ({})) }, 'edges'],
  KEY_FORBIDDEN: ['{"blocks": {}, "edges": [], "__proto__": 1}', '__proto__'],
  BLOCK_ID_MISMATCH: [{ blocks: { a: { id: 'z', type: 'x' } }, edges: [] }, 'blocks.a.id'],
  FIELD_DROPPED: [{ blocks: { a: { type: 'x', name: 'A', subBlocks: { f: 1 } } }, edges: [] }, 'subBlocks.f'],
  NAME_MISSING: [{ blocks: { a: { type: 'x' } }, edges: [] }, 'blocks.a.name'],
  VARIABLE_TYPE_UNKNOWN: [withState({ variables: { v: { name: 'v', type: 'date' } } }), 'variables.v.type'],
  DIAGNOSTICS_MORE: [withData(Array.from({ length: 501 }, (_, index) => `<nosuch${index}.x>`)), ''],
  START_MISSING: [workflowFile({ blocks: { b: code('return 1') } }), 'blocks'],
  START_AMBIGUOUS: [withBlock(code('return 1'), { blocks: { s2: start({ name: 'Other' }) } }), 'blocks'],
  START_FIELD_RESERVED: [
    workflowFile({ blocks: { s: start({ fields: { inputFormat: [{ name: 'a' }, { name: 'error' }] } }) } }),
    'inputFormat.value.1.name',
  ],
  BLOCK_TYPE_UNKNOWN: [withBlock({ type: 'odd' }), 'blocks.b.type'],
  FEATURE_MISSING: [
    withBlock({ type: 'store' }),
    'blocks.b.type',
    {
      blockTypes: [
        {
          type: 'store',
          class: 'effect',
          requiredFieldsByOperation: { put: [] },
          featureByOperation: { put: 'files' },
        },
      ],
    },
  ],
  BLOCK_UNREACHABLE: [withBlock(code('return 1'), { blocks: { x: code('return 1') } }), 'blocks.x'],
  TRIGGER_NOT_FIRED: [
    workflowFile({ blocks: { s: { type: 'rss', name: 'News' } } }),
    'blocks.s.type',
    { triggers: [] },
  ],
  TRIGGER_UNSAFE: [
    workflowFile({ blocks: { s: { type: 'generic_webhook', fields: { token: '' } } } }),
    'blocks.s.subBlocks.token.value',
    {
      triggers: [
        {
          type: 'generic_webhook',
          parseConfig: () => ({ config: {}, warnings: [{ field: 'token', message: 'is empty' }] }),
        },
      ],
    },
  ],
  TRIGGER_INVALID: [
    workflowFile({ blocks: { s: { type: 'schedule', fields: { dailyTime: 'noon' } } } }),
    'blocks.s.subBlocks.dailyTime.value',
    {
      triggers: [
        { type: 'schedule', parseConfig: () => ({ problems: [{ field: 'dailyTime', message: 'is odd' }] }) },
      ],
    },
  ],
  EDGE_TO_NOWHERE: [withBlock(code('return 1'), { edges: ['b > ghost'] }), 'edges.1.target'],
  EDGE_TO_SELF: [withBlock(code('return 1'), { edges: ['b > b'] }), 'edges.1'],
  EDGE_ACROSS_SCOPES: [
    withBlock(loopBlock(), { blocks: innerBlock(), edges: ['b > in', 's > in'] }),
    'edges.2',
  ],
  PORT_UNKNOWN: [
    withBlock(code('return 1'), { blocks: { x: code('return 1') }, edges: ['b:odd > x'] }),
    'edges.1.sourceHandle',
  ],
  CYCLE: [
    withBlock(code('return 1'), { blocks: { x: code('return 1') }, edges: ['b > x', 'x > b'] }),
    'blocks.b',
  ],
  PARENT_MISSING: [withBlock({ ...code('return 1'), parentId: 's' }), 'blocks.b.data.parentId'],
  PARENT_CYCLE: [
    withBlock(loopBlock(), {
      blocks: { x: { type: 'loop', parentId: 'y' }, y: { type: 'loop', parentId: 'x' } },
    }),
    'blocks.x.data.parentId',
  ],
  NESTING_TOO_DEEP: [withBlock(loopBlock(), { blocks: nestedLoops(60) }), 'data.parentId'],
  CONTAINER_EMPTY: [withBlock(loopBlock()), 'blocks.b'],
  CONTAINER_MAP_USED: [
    withBlock(loopBlock(), {
      blocks: { in: code('return 1') },
      edges: ['b > in'],
      state: { loops: { b: { nodes: ['in'] } } },
    }),
    'loops.b.nodes',
  ],
  CONTAINER_MAP_DIFFERS: [withState({ parallels: { gone: { nodes: ['b'] } } }), 'parallels.gone'],
  NAME_RESERVED: [withBlock({ ...code('return 1'), name: 'Loop' }), 'blocks.b.name'],
  NAME_DUPLICATE: [withBlock({ ...code('return 1'), name: 'start' }), 'blocks.s.name'],
  NAME_UNUSABLE: [withBlock({ ...code('return 1'), name: 'A+B' }), 'blocks.b.name'],
  REFERENCE_UNKNOWN_BLOCK: [withReturn('<nosuch.x>'), 'subBlocks.code.value'],
  REFERENCE_UNKNOWN_VARIABLE: [withData('<variable.x>'), 'subBlocks.data.value'],
  REFERENCE_QUOTED: [withBlock(condition('b', '"<start.x>" === "y"', '')), 'subBlocks.conditions.value'],
  REFERENCE_HTML_NAME: [
    withBlock({ ...code('return 1'), name: 'P' }, followingBlock('<p>')),
    'subBlocks.code.value',
  ],
  REFERENCE_NEVER_RAN: [withReturn('<after.result>', followingBlock('1')), 'subBlocks.code.value'],
  REFERENCE_UNDECLARED_OUTPUT: [
    withBlock(code('return 1'), followingBlock('<b.reslt>')),
    'subBlocks.code.value',
  ],
  REFERENCE_INVALID: [
    withBlock(loopBlock(), { blocks: innerBlock('<loop.odd>'), edges: ['b > in'] }),
    'subBlocks.code.value',
  ],
  FIELD_REQUIRED: [
    withBlock({ type: 'mine' }),
    'subBlocks.topic.value',
    { blockTypes: [{ type: 'mine', class: 'effect', required: ['topic'] }] },
  ],
  FIELD_EMPTY: [withBlock(code(' ')), 'subBlocks.code.value'],
  FIELD_NOT_JSON: [
    withBlock({ type: 'response', fields: { dataMode: 'json', data: '{"v": <start.v>,}' } }),
    'subBlocks.data.value',
  ],
  FIELD_UNKNOWN: [withBlock({ ...code('return 1'), retry: { enabeld: true } }), 'blocks.b.retry.enabeld'],
  FIELD_VALUE: [withBlock({ type: 'wait', fields: { timeUnit: 'years' } }), 'subBlocks.timeUnit.value'],
  SYNTAX_INVALID: [withReturn('('), 'subBlocks.code.value'],
  LANGUAGE_UNKNOWN: [
    withBlock({ type: 'function', fields: { code: 'x', language: 'cobol' } }),
    'subBlocks.language.value',
  ],
  CONDITIONS_UNREADABLE: [
    withBlock({ type: 'condition', fields: { conditions: '[{bad' } }),
    'subBlocks.conditions.value',
  ],
  CONDITION_ROW: [withBlock(condition('b', 'true', '', 'true')), 'subBlocks.conditions.value.2'],
  ROUTES_UNREADABLE: [withBlock({ type: 'router_v2', fields: { routes: '{}' } }), 'subBlocks.routes.value'],
  LOOP_TYPE_UNKNOWN: [withContainer({ loopType: 'until' }), 'data.loopType'],
  PARALLEL_TYPE_UNKNOWN: [
    withContainer({ parallelType: 'until', collection: '[]' }, 'parallel'),
    'data.parallelType',
  ],
  COUNT_INVALID: [withContainer({ count: 'many' }), 'data.count'],
  COUNT_DEFAULTED: [withContainer({}), 'data.count'],
  COUNT_OVER_LIMIT: [withContainer({ count: 3 }), 'blocks.b.data', { limits: { maxLoopTurns: 2 } }],
  COLLECTION_INVALID: [withContainer({ loopType: 'forEach', collection: 'a, b' }), 'data.collection'],
  LOOP_CONDITION_MISSING: [withContainer({ loopType: 'while' }), 'data.whileCondition'],
  BATCH_SIZE_CLAMPED: [withContainer({ count: 1, batchSize: 99 }, 'parallel'), 'data.batchSize'],
  RETRY_CLAMPED: [
    withBlock({ ...code('return 1'), retry: { enabled: true, maxTries: 9 } }),
    'blocks.b.retry.maxTries',
  ],
  RETRY_IGNORED: [withBlock({ type: 'human_in_the_loop', retry: { enabled: true } }), 'blocks.b.retry'],
  TIMEOUT_INVALID: [withBlock({ ...code('return 1'), timeoutMs: 0 }), 'blocks.b.timeoutMs'],
};

function loopBlock(): BlockSettings {
  return { type: 'loop', data: { count: 2 } };
}

function innerBlock(text = '1'): WorkflowSettings['blocks'] {
  return { in: { ...code(`return ${text}`), parentId: 'b' } };
}

function followingBlock(text: string): Partial<WorkflowSettings> {
  return { blocks: { after: code(`return ${text}`) }, edges: ['b > after'] };
}

describe('diagnostics', () => {
  it.each(Object.entries(EXAMPLES))('%s has a path, a message and a hint', (expected, example) => {
    const [input, path, options] = example;
    const matches = diagnosticsOf(input, options).filter((diagnostic) => diagnostic.code === expected);
    expect(matches).not.toEqual([]);
    for (const match of matches) {
      expect(match.severity).toBe(DIAGNOSTIC_CODES[expected as DiagnosticCode].severity);
      expect(match.message).toMatch(/^.{8,}[.…]$/s);
      expect(match.hint).toMatch(/^.{8,}[.?]$/s);
    }
    expect(
      matches.map((match) => match.path.join('.')).find((candidate) => candidate.endsWith(path)),
    ).toBeDefined();
  });

  it('are empty for a valid workflow', () => {
    const blocks = {
      in: { ...code('return <loop.index> + <start.x>'), parentId: 'b' },
      after: code('return <b.results>.length'),
    };
    expect(diagnosticsOf(withBlock(loopBlock(), { blocks, edges: ['b > in', 'b > after'] }))).toEqual([]);
  });

  it('are all returned together, without duplicates, errors first', () => {
    const input = withBlock(code('return [<nosuch.x>, <nosuch.x>, <ghost.y>]'), {
      edges: ['b > b', 'b > nowhere'],
    });
    const diagnostics = diagnosticsOf(
      withBlock({ ...code(''), name: 'x' }, { blocks: { y: { type: 'odd' } }, edges: ['b > b'] }),
    );
    expect(diagnostics.map(({ severity }) => severity)).toEqual(['error', 'warning', 'warning', 'warning']);
    expect(diagnosticsOf(input).map((diagnostic) => diagnostic.code)).toEqual([
      'REFERENCE_UNKNOWN_BLOCK',
      'REFERENCE_UNKNOWN_BLOCK',
      'EDGE_TO_SELF',
      'EDGE_TO_NOWHERE',
    ]);
  });
});

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
function workflowWithBlock(b: BlockSettings, overrides: Partial<WorkflowSettings> = {}): unknown {
  const blocks = { s: start(), b, ...overrides.blocks };
  return workflowFile({ ...overrides, blocks, edges: ['s > b', ...(overrides.edges ?? [])] });
}

const workflowWithReturn = (text: string, overrides?: Partial<WorkflowSettings>): unknown =>
  workflowWithBlock(code(`return ${text}`), overrides);
const workflowWithData = (value: Json): unknown =>
  workflowWithBlock({ type: 'response', fields: { data: value } });
const workflowWithContainer = (data: JsonObject, type = 'loop'): unknown =>
  workflowWithBlock(
    { type, data },
    { blocks: { in: { ...code('return 1'), parentId: 'b' } }, edges: ['b > in'] },
  );
const workflowWithState = (state: JsonObject): unknown => workflowWithBlock(code('return 1'), { state });
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
  INPUT_TOO_DEEP: [workflowWithState({ deep: JSON.parse('['.repeat(200) + ']'.repeat(200)) as Json }), '0.0'],
  INPUT_TOO_LARGE: [{ blocks: {}, edges: Array.from({ length: 100_001 }, () => ({})) }, 'edges'],
  KEY_FORBIDDEN: ['{"blocks": {}, "edges": [], "__proto__": 1}', '__proto__'],
  BLOCK_ID_MISMATCH: [{ blocks: { a: { id: 'z', type: 'x' } }, edges: [] }, 'blocks.a.id'],
  FIELD_DROPPED: [{ blocks: { a: { type: 'x', name: 'A', subBlocks: { f: 1 } } }, edges: [] }, 'subBlocks.f'],
  NAME_MISSING: [{ blocks: { a: { type: 'x' } }, edges: [] }, 'blocks.a.name'],
  VARIABLE_TYPE_UNKNOWN: [
    workflowWithState({ variables: { v: { name: 'v', type: 'date' } } }),
    'variables.v.type',
  ],
  DIAGNOSTICS_MORE: [workflowWithData(Array.from({ length: 501 }, (_, index) => `<nosuch${index}.x>`)), ''],
  START_MISSING: [workflowFile({ blocks: { b: code('return 1') } }), 'blocks'],
  START_AMBIGUOUS: [
    workflowWithBlock(code('return 1'), { blocks: { s2: start({ name: 'Other' }) } }),
    'blocks',
  ],
  START_FIELD_RESERVED: [
    workflowFile({ blocks: { s: start({ fields: { inputFormat: [{ name: 'a' }, { name: 'error' }] } }) } }),
    'inputFormat.value.1.name',
  ],
  BLOCK_TYPE_UNKNOWN: [workflowWithBlock({ type: 'odd' }), 'blocks.b.type'],
  FEATURE_MISSING: [
    workflowWithBlock({ type: 'store' }),
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
  BLOCK_UNREACHABLE: [workflowWithBlock(code('return 1'), { blocks: { x: code('return 1') } }), 'blocks.x'],
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
  EDGE_TO_NOWHERE: [workflowWithBlock(code('return 1'), { edges: ['b > ghost'] }), 'edges.1.target'],
  EDGE_TO_SELF: [workflowWithBlock(code('return 1'), { edges: ['b > b'] }), 'edges.1'],
  EDGE_ACROSS_SCOPES: [
    workflowWithBlock(loopBlock(), { blocks: innerBlock(), edges: ['b > in', 's > in'] }),
    'edges.2',
  ],
  PORT_UNKNOWN: [
    workflowWithBlock(code('return 1'), { blocks: { x: code('return 1') }, edges: ['b:odd > x'] }),
    'edges.1.sourceHandle',
  ],
  CYCLE: [
    workflowWithBlock(code('return 1'), { blocks: { x: code('return 1') }, edges: ['b > x', 'x > b'] }),
    'blocks.b',
  ],
  PARENT_MISSING: [workflowWithBlock({ ...code('return 1'), parentId: 's' }), 'blocks.b.data.parentId'],
  PARENT_CYCLE: [
    workflowWithBlock(loopBlock(), {
      blocks: { x: { type: 'loop', parentId: 'y' }, y: { type: 'loop', parentId: 'x' } },
    }),
    'blocks.x.data.parentId',
  ],
  NESTING_TOO_DEEP: [workflowWithBlock(loopBlock(), { blocks: nestedLoops(60) }), 'data.parentId'],
  CONTAINER_EMPTY: [workflowWithBlock(loopBlock()), 'blocks.b'],
  CONTAINER_MAP_USED: [
    workflowWithBlock(loopBlock(), {
      blocks: { in: code('return 1') },
      edges: ['b > in'],
      state: { loops: { b: { nodes: ['in'] } } },
    }),
    'loops.b.nodes',
  ],
  CONTAINER_MAP_DIFFERS: [workflowWithState({ parallels: { gone: { nodes: ['b'] } } }), 'parallels.gone'],
  NAME_RESERVED: [workflowWithBlock({ ...code('return 1'), name: 'Loop' }), 'blocks.b.name'],
  NAME_DUPLICATE: [workflowWithBlock({ ...code('return 1'), name: 'start' }), 'blocks.s.name'],
  NAME_UNUSABLE: [workflowWithBlock({ ...code('return 1'), name: 'A+B' }), 'blocks.b.name'],
  REFERENCE_UNKNOWN_BLOCK: [workflowWithReturn('<nosuch.x>'), 'subBlocks.code.value'],
  REFERENCE_UNKNOWN_VARIABLE: [workflowWithData('<variable.x>'), 'subBlocks.data.value'],
  REFERENCE_QUOTED: [
    workflowWithBlock(condition('b', '"<start.x>" === "y"', '')),
    'subBlocks.conditions.value',
  ],
  REFERENCE_HTML_NAME: [
    workflowWithBlock({ ...code('return 1'), name: 'P' }, followingBlock('<p>')),
    'subBlocks.code.value',
  ],
  REFERENCE_NEVER_RAN: [workflowWithReturn('<after.result>', followingBlock('1')), 'subBlocks.code.value'],
  REFERENCE_UNDECLARED_OUTPUT: [
    workflowWithBlock(code('return 1'), followingBlock('<b.reslt>')),
    'subBlocks.code.value',
  ],
  REFERENCE_INVALID: [
    workflowWithBlock(loopBlock(), { blocks: innerBlock('<loop.odd>'), edges: ['b > in'] }),
    'subBlocks.code.value',
  ],
  FIELD_REQUIRED: [
    workflowWithBlock({ type: 'mine' }),
    'subBlocks.topic.value',
    { blockTypes: [{ type: 'mine', class: 'effect', required: ['topic'] }] },
  ],
  FIELD_EMPTY: [workflowWithBlock(code(' ')), 'subBlocks.code.value'],
  FIELD_NOT_JSON: [
    workflowWithBlock({ type: 'response', fields: { dataMode: 'json', data: '{"v": <start.v>,}' } }),
    'subBlocks.data.value',
  ],
  FIELD_UNKNOWN: [
    workflowWithBlock({ ...code('return 1'), retry: { enabeld: true } }),
    'blocks.b.retry.enabeld',
  ],
  FIELD_VALUE: [
    workflowWithBlock({ type: 'wait', fields: { timeUnit: 'years' } }),
    'subBlocks.timeUnit.value',
  ],
  SYNTAX_INVALID: [workflowWithReturn('('), 'subBlocks.code.value'],
  LANGUAGE_UNKNOWN: [
    workflowWithBlock({ type: 'function', fields: { code: 'x', language: 'cobol' } }),
    'subBlocks.language.value',
  ],
  CONDITIONS_UNREADABLE: [
    workflowWithBlock({ type: 'condition', fields: { conditions: '[{bad' } }),
    'subBlocks.conditions.value',
  ],
  CONDITION_ROW: [workflowWithBlock(condition('b', 'true', '', 'true')), 'subBlocks.conditions.value.2'],
  ROUTES_UNREADABLE: [
    workflowWithBlock({ type: 'router_v2', fields: { routes: '{}' } }),
    'subBlocks.routes.value',
  ],
  LOOP_TYPE_UNKNOWN: [workflowWithContainer({ loopType: 'until' }), 'data.loopType'],
  PARALLEL_TYPE_UNKNOWN: [
    workflowWithContainer({ parallelType: 'until', collection: '[]' }, 'parallel'),
    'data.parallelType',
  ],
  COUNT_INVALID: [workflowWithContainer({ count: 'many' }), 'data.count'],
  COUNT_DEFAULTED: [workflowWithContainer({}), 'data.count'],
  COUNT_OVER_LIMIT: [workflowWithContainer({ count: 3 }), 'blocks.b.data', { limits: { maxLoopTurns: 2 } }],
  COLLECTION_INVALID: [workflowWithContainer({ loopType: 'forEach', collection: 'a, b' }), 'data.collection'],
  LOOP_CONDITION_MISSING: [workflowWithContainer({ loopType: 'while' }), 'data.whileCondition'],
  BATCH_SIZE_CLAMPED: [workflowWithContainer({ count: 1, batchSize: 99 }, 'parallel'), 'data.batchSize'],
  RETRY_CLAMPED: [
    workflowWithBlock({ ...code('return 1'), retry: { enabled: true, maxTries: 9 } }),
    'blocks.b.retry.maxTries',
  ],
  RETRY_IGNORED: [
    workflowWithBlock({ type: 'human_in_the_loop', retry: { enabled: true } }),
    'blocks.b.retry',
  ],
  TIMEOUT_INVALID: [workflowWithBlock({ ...code('return 1'), timeoutMs: 0 }), 'blocks.b.timeoutMs'],
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
    expect(diagnosticsOf(workflowWithBlock(loopBlock(), { blocks, edges: ['b > in', 'b > after'] }))).toEqual(
      [],
    );
  });

  it('are all returned together, without duplicates, errors first', () => {
    const input = workflowWithBlock(code('return [<nosuch.x>, <nosuch.x>, <ghost.y>]'), {
      edges: ['b > b', 'b > nowhere'],
    });
    const diagnostics = diagnosticsOf(
      workflowWithBlock({ ...code(''), name: 'x' }, { blocks: { y: { type: 'odd' } }, edges: ['b > b'] }),
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

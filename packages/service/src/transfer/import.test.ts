import type { Principal } from '@heddle/api';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { describe, expect, it } from 'vitest';
import { readImportFile, reportOf, warningsOf } from './import.ts';
import { planImport } from './plan.ts';

const destination = { workspaceId: 'w', principal: {} as Principal };

function block(id: string, fields: { [key: string]: [type: string, value: Json] } = {}): JsonObject {
  const subBlocks = Object.entries(fields).map(([key, [type, value]]) => [key, { id: key, type, value }]);
  return { id, type: 'workflow', name: id, subBlocks: Object.fromEntries(subBlocks) as JsonObject };
}

function fileOf(blocks: JsonObject[], otherProperties: JsonObject = {}): JsonObject {
  return {
    state: {
      blocks: Object.fromEntries(blocks.map((draftBlock) => [draftBlock['id'], draftBlock])),
      edges: [],
    },
    ...otherProperties,
  };
}

async function warningLinesOf(source: JsonObject): Promise<string[]> {
  const file = readImportFile(source);
  return warningsOf(file, await planImport(file, {}, { destination, lookups: {} }));
}

describe('the file of an import', () => {
  it('is a draft: unknown keys are dropped with a warning, and containers are derived from the blocks', () => {
    const loop = { ...block('l'), type: 'loop', data: { count: 3 }, strange: 1 };
    const { graph, warnings } = readImportFile(fileOf([loop]));
    expect(graph.blocks['l']).not.toHaveProperty('strange');
    expect(graph.loops).toMatchObject({ l: { iterations: 3 } });
    expect(warnings).toMatchObject([expect.stringContaining('"strange"')]);
  });

  it.each([
    ['', 'Imported workflow'],
    ['  Trimmed ', 'Trimmed'],
    ['n'.repeat(300), 'n'.repeat(200)],
    [`${'n'.repeat(199)}😀`, `${'n'.repeat(199)}\ufffd`],
  ])('with the name %j is imported as %j', (name, expected) => {
    expect(readImportFile(fileOf([], { workflow: { name } })).name).toBe(expected);
  });
});

describe('the warnings of an import', () => {
  it('have one line for a requirement with several fields, and none when one of them has a value', async () => {
    const fields = (manualValue: Json) => ({
      workflowId: ['workflow-selector', null] as [string, Json],
      manual: ['workflow-selector', manualValue] as [string, Json],
    });
    expect(await warningLinesOf(fileOf([block('B', fields(''))]))).toEqual([
      'B: workflowId was cleared by the export; set it before running',
    ]);
    expect(await warningLinesOf(fileOf([block('B', fields('<start.id>'))]))).toEqual([]);
  });

  it('are at most 1,000 lines', async () => {
    const blocks = Array.from({ length: 1500 }, (_, index) =>
      block(`b${index}`, { workflowId: ['workflow-selector', null] }),
    );
    const lines = await warningLinesOf(fileOf(blocks));
    expect(lines).toHaveLength(1000);
    expect(lines.at(-1)).toBe('501 more warnings');
  });
});

describe('the report of an import', () => {
  it('lists a cleared reference that a block needs, with the new id of the block', async () => {
    const file = readImportFile(fileOf([block('B', { workflowId: ['workflow-selector', 'w1'] })]));
    const mappings = [{ kind: 'workflow' as const, sourceId: 'w1', targetId: null }];
    const plan = await planImport(file, { mappings }, { destination, lookups: {} });
    const ids = { operationId: 'o', requestId: 'r', workspaceId: 'w', workflowId: 'made' };
    const report = reportOf({ ...ids, plan, warnings: [], idMap: new Map([['B', 'new']]) });
    expect(report).toMatchObject({
      ...{ operationId: 'o', status: 'requires_configuration', resourceIds: ['made'], idMap: { B: 'new' } },
      issues: [{ code: 'REFERENCE_CLEARED', workflowId: 'made', blockId: 'new', subBlockKey: 'workflowId' }],
    });
    const planWithoutClearedBindings = { ...plan, clearedBindings: [] };
    const { status, issues } = reportOf({
      ...ids,
      plan: planWithoutClearedBindings,
      warnings: ['x'],
      idMap: new Map(),
    });
    expect([status, issues[0]?.message]).toEqual(['completed_with_warnings', 'x']);
  });
});

import type { Principal } from '@heddle/api';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { describe, expect, it } from 'vitest';
import type { PortableGraph } from './graph.ts';
import { REFERENCE_KINDS } from './kinds.ts';
import type { Lookups } from './lookups.ts';
import { isReady, planImport } from './plan.ts';
import type { ImportOptions } from './plan.ts';
import type { ReferenceManifest } from './references.ts';

type Fields = { [key: string]: [type: string, value: Json] };

function graphOf(blocks: { [id: string]: [type: string, fields: Fields] }): PortableGraph {
  const entries = Object.entries(blocks).map(([id, [type, fields]]): [string, JsonObject] => {
    const subBlocks = Object.entries(fields).map(([key, [kind, value]]) => [
      key,
      { id: key, type: kind, value },
    ]);
    return [id, { id, type, name: `Block ${id}`, subBlocks: Object.fromEntries(subBlocks) as JsonObject }];
  });
  return { blocks: Object.fromEntries(entries), edges: [], variables: {} };
}

const lookupOf =
  (...knownIds: string[]) =>
  (ids: readonly string[]): Promise<Set<string>> =>
    Promise.resolve(new Set(ids.filter((id) => knownIds.includes(id))));

/** Lookups of every kind, which find the ids `mine` and `other`. */
const ALL_LOOKUPS = Object.fromEntries(
  REFERENCE_KINDS.map(({ kind }) => [kind, lookupOf('mine', 'other')]),
) as unknown as Lookups;

const destination = { workspaceId: 'w', principal: {} as Principal };

function plan(
  graph: PortableGraph,
  options: ImportOptions = {},
  { lookups = ALL_LOOKUPS, manifest }: { lookups?: Lookups; manifest?: ReferenceManifest } = {},
) {
  return planImport({ graph, manifest }, options, { destination, lookups });
}

function valueOf(graph: PortableGraph, blockId: string, key: string): Json {
  const { subBlocks } = graph.blocks[blockId] as unknown as {
    subBlocks: { [key: string]: { value: Json } };
  };
  return subBlocks[key]?.value ?? null;
}

/** A field for each kind, with the id `theirs` in it. */
const FIELDS: { [kind: string]: [type: string, key: string, field: [string, Json]] } = {
  credential: ['gmail', 'credential', ['oauth-input', 'theirs']],
  'env-var': ['api', 'url', ['short-input', 'https://{{theirs}}/']],
  'knowledge-base': ['knowledge', 'knowledgeBaseId', ['short-input', 'theirs']],
  'knowledge-document': ['knowledge', 'documentId', ['document-selector', 'theirs']],
  table: ['table', 'tableId', ['short-input', 'theirs']],
  file: ['x', 'files', ['file-upload', [{ key: 'theirs' }]]],
  'mcp-server': ['mcp', 'server', ['mcp-server-selector', 'theirs']],
  'custom-tool': ['agent', 'tools', ['tool-input', [{ type: 'custom-tool', customToolId: 'theirs' }]]],
  'custom-block': ['custom', 'customBlockId', ['short-input', 'theirs']],
  skill: ['agent', 'skills', ['skill-input', [{ skillId: 'theirs' }]]],
  sandbox: ['function', 'sandboxId', ['dropdown', 'theirs']],
  workflow: ['workflow', 'workflowId', ['workflow-selector', 'theirs']],
};

const KINDS = REFERENCE_KINDS.map(({ kind }) => kind);

function graphWith(kind: string): PortableGraph {
  const [type, key, field] = FIELDS[kind] as (typeof FIELDS)[string];
  return graphOf({ b: [type, { [key]: field }] });
}

describe.each(KINDS)('a reference of the kind %s', (kind) => {
  it('is unresolved when the workspace does not have it, and stays in the graph', async () => {
    const graph = graphWith(kind);
    const importPlan = await plan(graph);
    expect(importPlan.unresolvedBindings).toMatchObject([{ kind, sourceId: 'theirs', targetId: null }]);
    expect(importPlan.bindings).toEqual(importPlan.unresolvedBindings);
    expect(isReady(importPlan)).toBe(false);
    expect(importPlan.graph).toEqual(graph);
  });

  it('gets the target of a mapping wherever it occurs', async () => {
    const importPlan = await plan(graphWith(kind), {
      mappings: [{ kind, sourceId: 'theirs', targetId: 'mine' }],
    });
    expect(importPlan.bindings).toMatchObject([{ kind, sourceId: 'theirs', targetId: 'mine' }]);
    expect(importPlan.unresolvedBindings).toEqual([]);
    const text = JSON.stringify(importPlan.graph);
    expect([text.includes('mine'), text.includes('theirs')]).toEqual([true, false]);
  });

  it('stays unresolved for a target that the workspace does not have', async () => {
    const importPlan = await plan(graphWith(kind), {
      mappings: [{ kind, sourceId: 'theirs', targetId: 'foreign' }],
    });
    expect(importPlan.unresolvedBindings).toMatchObject([{ kind, targetId: null }]);
    expect(JSON.stringify(importPlan.graph)).not.toContain('foreign');
  });

  it('can be cleared, but not mapped, if its kind has no lookup', async () => {
    const options = { lookups: {} };
    const mappedPlan = await plan(
      graphWith(kind),
      { mappings: [{ kind, sourceId: 'theirs', targetId: 'mine' }] },
      options,
    );
    expect(isReady(mappedPlan)).toBe(false);
    expect(mappedPlan.discovery).toEqual([]);
    const clearedPlan = await plan(
      graphWith(kind),
      { mappings: [{ kind, sourceId: 'theirs', targetId: null }] },
      options,
    );
    expect(isReady(clearedPlan)).toBe(true);
    expect(JSON.stringify(clearedPlan.graph)).not.toContain('theirs');
  });
});

describe('an import plan', () => {
  const workflowGraph = graphOf({ b: ['workflow', { workflowId: ['workflow-selector', 'mine'] }] });

  it('keeps an id that the workspace has, except that of a credential', async () => {
    const graph = graphOf({
      b: ['workflow', { workflowId: ['workflow-selector', 'mine'] }],
      c: ['gmail', { credential: ['oauth-input', 'mine'] }],
    });
    const importPlan = await plan(graph);
    expect(importPlan.bindings.map(({ kind, targetId }) => [kind, targetId])).toEqual([
      ['workflow', 'mine'],
      ['credential', null],
    ]);
    expect(importPlan.unresolvedBindings.map(({ kind }) => kind)).toEqual(['credential']);
    expect(importPlan.discovery).toMatchObject([
      { kind: 'credential', humanAuthorizationMayBeRequired: true },
    ]);
  });

  it('is not ready when a required reference is cleared', async () => {
    const importPlan = await plan(workflowGraph, {
      mappings: [{ kind: 'workflow', sourceId: 'mine', targetId: null }],
    });
    expect(importPlan.unresolvedBindings).toMatchObject([
      { kind: 'workflow', required: true, targetId: null },
    ]);
    expect(isReady(importPlan)).toBe(false);
  });

  it('restores ids that the manifest names in fields that the export has cleared', async () => {
    const graph = graphOf({ b: ['knowledge', { knowledgeBaseIds: ['x', null] }] });
    const occurrence = {
      blockId: 'b',
      subBlockKey: 'knowledgeBaseIds',
      valuePath: [],
      encoding: 'csv' as const,
    };
    const manifest: ReferenceManifest = {
      version: 1,
      references: [
        {
          kind: 'knowledge-base',
          sourceId: 'one',
          required: false,
          occurrences: [{ ...occurrence, positions: [0] }],
        },
        {
          kind: 'knowledge-base',
          sourceId: 'mine',
          required: false,
          occurrences: [{ ...occurrence, positions: [1] }],
        },
      ],
    };
    const mappings = [{ kind: 'knowledge-base' as const, sourceId: 'one', targetId: 'other' }];
    const importPlan = await plan(graph, { mappings }, { manifest });
    expect(valueOf(importPlan.graph, 'b', 'knowledgeBaseIds')).toBe('other,mine');
  });

  it('ignores entries of a manifest for fields that do not exist or have ids of another kind', async () => {
    const occurrenceIn = (blockId: string, subBlockKey: string) => ({
      ...{ blockId, subBlockKey, valuePath: [], encoding: 'scalar' as const },
    });
    const manifest: ReferenceManifest = {
      version: 1,
      references: [
        {
          kind: 'table',
          sourceId: 'mine',
          required: true,
          occurrences: [
            occurrenceIn('b', 'workflowId'),
            occurrenceIn('none', 'x'),
            occurrenceIn('b', 'none'),
          ],
        },
      ],
    };
    const importPlan = await plan(workflowGraph, {}, { manifest });
    expect(importPlan.bindings.map(({ kind }) => kind)).toEqual(['workflow']);
    expect(importPlan.graph).toEqual(workflowGraph);
  });

  const bindingWith = (overrides: object) =>
    ({
      ...{ kind: 'workflow', blockId: 'b', subBlockKey: 'workflowId', valuePath: [], encoding: 'scalar' },
      ...overrides,
    }) as NonNullable<ImportOptions['bindings']>[number];

  it('binds one field, even an empty one', async () => {
    const filledFieldPlan = await plan(workflowGraph, { bindings: [bindingWith({ targetId: 'other' })] });
    expect(valueOf(filledFieldPlan.graph, 'b', 'workflowId')).toBe('other');
    const emptyFieldGraph = graphOf({ b: ['workflow', { workflowId: ['workflow-selector', null] }] });
    const emptyFieldPlan = await plan(emptyFieldGraph, { bindings: [bindingWith({ targetId: 'other' })] });
    expect(valueOf(emptyFieldPlan.graph, 'b', 'workflowId')).toBe('other');
    expect(isReady(emptyFieldPlan)).toBe(true);
  });

  it('binds single items of a list', async () => {
    const graph = graphOf({ b: ['knowledge', { knowledgeBaseIds: ['x', 'mine,mine,mine'] }] });
    const binding = bindingWith({
      ...{ kind: 'knowledge-base', subBlockKey: 'knowledgeBaseIds', encoding: 'csv', positions: [1] },
      targetId: 'other',
    });
    const importPlan = await plan(graph, { bindings: [binding] });
    expect(valueOf(importPlan.graph, 'b', 'knowledgeBaseIds')).toBe('mine,other,mine');
    expect(importPlan.bindings.map(({ targetId, occurrence }) => [targetId, occurrence.positions])).toEqual([
      ['mine', [0, 2]],
      ['other', [1]],
    ]);
  });

  const invalidOptions: [string, ImportOptions, string][] = [
    [
      'two mappings of one id',
      {
        mappings: [
          { kind: 'workflow', sourceId: 'mine', targetId: 'a' },
          { kind: 'workflow', sourceId: 'mine', targetId: null },
        ],
      },
      'conflicting instructions for mappings of workflow "mine"',
    ],
    [
      'two bindings of one field',
      { bindings: [bindingWith({ targetId: 'mine' }), bindingWith({ targetId: 'other' })] },
      'conflicting instructions for "workflowId" of block "b"',
    ],
    [
      'a binding of a whole value and one of an item',
      { bindings: [bindingWith({ targetId: 'mine' }), bindingWith({ targetId: 'mine', positions: [0] })] },
      'conflicting',
    ],
    [
      'a mapping and a binding of one field',
      {
        mappings: [{ kind: 'workflow', sourceId: 'mine', targetId: 'mine' }],
        bindings: [bindingWith({ targetId: 'other' })],
      },
      'conflicting',
    ],
    [
      'a binding of another kind',
      { bindings: [bindingWith({ kind: 'table', targetId: 'mine' })] },
      'has a workflow',
    ],
    [
      'a binding of an unknown field',
      { bindings: [bindingWith({ blockId: 'x', targetId: 'mine' })] },
      'cannot have a',
    ],
    [
      'a dependent value for a field that depends on no reference',
      { dependentValues: [{ blockId: 'b', subBlockKey: 'workflowId', value: 'x' }] },
      'is not a field whose values depend on a reference',
    ],
  ];
  it.each(invalidOptions)('refuses %s', async (_, options, message) => {
    await expect(plan(workflowGraph, options)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(message),
    });
  });

  it('keeps the id in the file if an instruction has no target', async () => {
    const importPlan = await plan(workflowGraph, {
      mappings: [{ kind: 'workflow', sourceId: 'mine' }],
      bindings: [bindingWith({})],
    });
    expect(importPlan.bindings).toMatchObject([{ targetId: 'mine' }]);
  });

  const mailGraph = graphOf({
    m: [
      'gmail',
      {
        credential: ['oauth-input', 'theirs'],
        label: ['folder-selector', 'INBOX'],
        to: ['short-input', 'a'],
      },
    ],
  });
  const credentialMapping = { kind: 'credential' as const, sourceId: 'theirs', targetId: 'mine' };

  it('clears values that depend on a changed reference, and applies the values of the caller', async () => {
    const changedPlan = await plan(mailGraph, { mappings: [credentialMapping] });
    expect(valueOf(changedPlan.graph, 'm', 'label')).toBeNull();
    expect(changedPlan.configuration).toEqual([
      {
        ...{ blockId: 'm', subBlockKey: 'label', title: 'Label', required: false, configured: false },
        ...{ context: { oauthCredential: 'mine' }, requiresAuthentication: true },
      },
    ]);
    const dependentValues = [{ blockId: 'm', subBlockKey: 'label', value: 'SENT' }];
    const chosenPlan = await plan(mailGraph, { mappings: [credentialMapping], dependentValues });
    expect(valueOf(chosenPlan.graph, 'm', 'label')).toBe('SENT');
    expect(chosenPlan.configuration).toMatchObject([{ configured: true }]);
    expect(valueOf(chosenPlan.graph, 'm', 'to')).toBe('a');
  });

  it('is not ready while a required field that depends on a reference is empty', async () => {
    const graph = graphOf({
      b: ['mcp', { server: ['mcp-server-selector', 'mine'], tool: ['mcp-tool-selector', ''] }],
    });
    const importPlan = await plan(graph);
    expect(importPlan.unresolvedConfiguration).toMatchObject([
      { subBlockKey: 'tool', context: { mcpServerId: 'mine' } },
    ]);
    expect(isReady(importPlan)).toBe(false);
    const dependentValues = [{ blockId: 'b', subBlockKey: 'tool', value: 'search' }];
    expect(isReady(await plan(graph, { dependentValues }))).toBe(true);
  });
});

import { createEngine, defineBlock } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { JsonObject } from '@heddle/core';
import { tenantOptionsOf, createTestApi } from '../../../../../test/support/api.ts';
import { openServiceStore } from '../../store/open.ts';
import type { LintReport, RemovedBinding } from '../draft-schemas.ts';

const store = await openServiceStore();
const letter = defineBlock({ type: 'letter', input: z.object({ to: z.string() }), run: () => ({}) });
const engine = await createEngine({ ...tenantOptionsOf(store), blocks: [letter] });
const environments = { names: async () => ['KNOWN'] };
const api = await createTestApi({ store, engine, environments });

type WriteResult = { lint: LintReport; removedBindings: RemovedBinding[] };
type Blocks = { [id: string]: JsonObject };

interface Draft {
  blocks: Blocks;
  edges?: { source: string; target: string; sourceHandle?: string }[];
}

function block(type: string, fields: JsonObject = {}, properties: JsonObject = {}): JsonObject {
  const subBlocks = Object.fromEntries(
    Object.entries(fields).map(([id, value]) => [id, { id, type: 'short-input', value }]),
  );
  return { type, name: type, subBlocks, ...properties };
}

/** Returns ids that no other test uses. */
function uniqueIds<const Names extends readonly string[]>(
  ...names: Names
): { [Name in Names[number]]: string } {
  const scope = crypto.randomUUID();
  return Object.fromEntries(names.map((name) => [name, `${scope}-${name}`])) as never;
}

async function createWorkflow(name: string = crypto.randomUUID()): Promise<string> {
  const body = { workspaceId: api.workspaceId, name };
  return (await api.call<{ id: string }>('POST', '/api/v2/workflows', { body })).data.id;
}

async function putDraft(workflowId: string, { blocks, edges = [] }: Draft): Promise<WriteResult> {
  const response = await api.call<WriteResult>('PUT', `/api/v2/workflows/${workflowId}/state`, {
    body: { blocks, edges },
  });
  expect(response.status).toBe(200);
  return response.data;
}

async function lintOf(draft: Draft): Promise<LintReport> {
  return (await putDraft(await createWorkflow(), draft)).lint;
}

describe('the lint of a draft', () => {
  it('lists ports of conditions, routers and containers that lead nowhere, even if edges have no port', async () => {
    const { c, r, l, inner, f } = uniqueIds('c', 'r', 'l', 'inner', 'f');
    const { emptyOutgoingPorts } = await lintOf({
      blocks: {
        [c]: block('condition', {
          conditions: [
            { id: 'one', title: 'if', value: 'true' },
            { id: 'two', title: 'else', value: '' },
          ],
        }),
        [r]: block('router_v2', { routes: JSON.stringify([{ id: 'left', title: 'Left', value: 'x' }]) }),
        [l]: block('loop', {}, { data: { loopType: 'for', count: 1 } }),
        [inner]: block('function', {}, { data: { parentId: l } }),
        [f]: block('function'),
      },
      edges: [{ source: c, target: f }],
    });
    expect(emptyOutgoingPorts).toMatchObject([
      { blockId: c, blockType: 'condition', handle: 'condition-two', label: 'else' },
      { blockId: r, handle: 'router-left', label: 'Left' },
      { blockId: l, handle: 'loop-start-source', label: 'Start' },
    ]);
  });

  it('ignores notes, and edges to blocks that do not exist', async () => {
    const { n, a, b } = uniqueIds('n', 'a', 'b');
    const lint = await lintOf({
      blocks: { [n]: block('note'), [a]: block('function'), [b]: block('function', {}, { name: 'B' }) },
      edges: [
        { source: a, target: 'gone' },
        { source: a, target: b },
      ],
    });
    expect(lint.sources.map(({ blockId }) => blockId)).toEqual([a]);
    expect(lint.sinks.map(({ blockId }) => blockId)).toEqual([b]);
    expect(lint.orphanBlocks).toEqual([]);
    expect(lint.invalidConnectionTargets).toMatchObject([
      { sourceBlockId: a, sourceBlockName: 'function', targetBlockId: 'gone' },
    ]);
  });

  it('lists the required fields of a block together, including types that the host registers', async () => {
    const { s, a, b, t } = uniqueIds('s', 'a', 'b', 't');
    const { fieldIssues, diagnostics } = await lintOf({
      blocks: {
        ...{ [s]: block('start_trigger'), [a]: block('letter'), [b]: block('api') },
        // The catalog describes this type, but this engine has no executor for it.
        [t]: block('translate', { context: ' ', targetLanguage: 'Dutch' }),
      },
      edges: [
        { source: s, target: a },
        { source: a, target: b },
      ],
    });
    expect(fieldIssues).toEqual([
      {
        ...{ blockId: a, blockName: 'letter', blockType: 'letter' },
        ...{ missingRequiredFields: ['to'], inactiveModeValues: [] },
      },
      expect.objectContaining({ blockId: b, missingRequiredFields: ['url'] }),
      expect.objectContaining({ blockId: t, missingRequiredFields: ['context'] }),
    ]);
    const unknownTypeDiagnostics = diagnostics.filter(({ code }) => code === 'BLOCK_TYPE_UNKNOWN');
    expect(unknownTypeDiagnostics.map(({ blockId }) => blockId)).toEqual([t]);
  });

  it('names the line and column of a syntax error, but no column if references shift it', async () => {
    const { s, a, b } = uniqueIds('s', 'a', 'b');
    const { codeIssues } = await lintOf({
      blocks: {
        [s]: block('start_trigger'),
        [a]: block('function', { code: 'const x = 1;\nreturn x +* 2' }),
        [b]: block('function', { code: 'return <function.result> +* 2' }, { name: 'b' }),
      },
      edges: [
        { source: s, target: a },
        { source: a, target: b },
      ],
    });
    expect(codeIssues).toMatchObject([
      { blockId: a, field: 'code', language: 'javascript', line: 2, column: 11 },
      { blockId: b, line: 1, column: null },
    ]);
  });

  it('lists references to unknown outputs and blocks, and to blocks that cannot have run', async () => {
    const { s, a, b } = uniqueIds('s', 'a', 'b');
    const { unresolvedReferences } = await lintOf({
      blocks: {
        [s]: block('start_trigger'),
        [a]: block('function', { code: 'return [<late.result>, <nobody.x>]' }),
        [b]: block('function', { code: 'return <function.typo>' }, { name: 'Late' }),
      },
      edges: [
        { source: s, target: a },
        { source: a, target: b },
      ],
    });
    expect(new Set(unresolvedReferences.map(({ value, kind }) => `${kind} ${value}`))).toEqual(
      new Set(['block-output <function.typo>', 'block-output <late.result>', 'block-output <nobody.x>']),
    );
  });

  it('lists workflows that the workspace does not have, or that are not deployed, by id or name', async () => {
    const [undeployedId, liveId] = [await createWorkflow(), await createWorkflow('Live child')];
    await api.call('POST', `/api/v2/workflows/${liveId}/deploy`);
    const otherWorkspaceId = await store.workspaces.createWorkspace('Other', api.userId);
    const foreignWorkflow = await api.call<{ id: string }>('POST', '/api/v2/workflows', {
      body: { workspaceId: otherWorkspaceId, name: 'Foreign' },
    });
    const references = ['Live child', undeployedId, 'Nobody', foreignWorkflow.data.id, '<start.id>'];
    const { unresolvedReferences } = await lintOf({
      blocks: Object.fromEntries(
        references.map((workflowId, index) => {
          const { w } = uniqueIds('w');
          return [w, block('workflow', { workflowId }, { name: `w${index}` })];
        }),
      ),
    });
    expect(
      unresolvedReferences
        .filter(({ kind }) => kind === 'resource')
        .map(({ field, value, reason }) => [field, value, reason]),
    ).toEqual([
      ['workflowId', undeployedId, `The workflow "${undeployedId}" is not deployed.`],
      ['workflowId', 'Nobody', 'The workspace has no workflow with the id or name "Nobody".'],
      [
        'workflowId',
        foreignWorkflow.data.id,
        `The workspace has no workflow with the id or name "${foreignWorkflow.data.id}".`,
      ],
    ]);
  });

  it('lists unknown secrets, sandboxes, skills and tools, but no text in the braces of other templates', async () => {
    const { f, a } = uniqueIds('f', 'a');
    const sandboxId = crypto.randomUUID();
    const tools = [
      { type: 'echo' },
      { type: 'slack', operation: 'send' },
      { type: 'slack', usageControl: 'none' },
      { type: 'mcp', params: { serverId: 'srv', toolName: 'search' } },
      { type: 'custom-tool', customToolId: 'ct' },
      { type: 'custom-tool', code: 'return 1', schema: {} },
      { type: 'workflow', params: { workflowId: 'a\u0000b' } },
    ];
    const { unresolvedReferences, checks } = await lintOf({
      blocks: {
        [f]: block('function', { code: 'return {{KNOWN}} + {{MISSING}}', sandboxId }),
        [a]: block('agent', {
          systemPrompt: 'Dear {{first name}}',
          tools: JSON.stringify(tools),
          skills: [{ skillId: 'gone' }],
        }),
      },
    });
    expect(unresolvedReferences.map(({ kind, value }) => [kind, value])).toEqual([
      ['resource', 'a\u0000b'],
      ['resource', sandboxId],
      ['skill', 'gone'],
      ['credential', '{{MISSING}}'],
      ['resource', 'send'],
      ['mcp-tool', 'search'],
      ['custom-tool', 'ct'],
      ['resource', 'workflow'],
    ]);
    expect(checks.map(({ name, status }) => [name, status])).toEqual([
      ['graph', 'complete'],
      ['fields', 'complete'],
      ['block-output-references', 'complete'],
      ['branch-output-references', 'complete'],
      ['embedded-code-syntax', 'partial'],
      ['credential-resource-references', 'partial'],
      ['agent-tool-references', 'complete'],
      ['table-fields', 'skipped'],
      ['runtime-execution', 'skipped'],
    ]);
  });

  it('reveals no names of secrets to a workspace key, which may not list secrets', async () => {
    const id = await createWorkflow();
    const { f } = uniqueIds('f');
    const blocks = { [f]: block('function', { code: 'return {{KNOWN}} + {{MISSING}}' }) };
    expect((await putDraft(id, { blocks })).lint.unresolvedReferences).toHaveLength(1);
    const { key } = await store.keys.create({ workspaceId: api.workspaceId }, 'workspace');
    const response = await api.call<WriteResult>('GET', `/api/v2/workflows/${id}/inspect`, { key });
    expect(response.data.lint.unresolvedReferences).toEqual([]);
    const check = response.data.lint.checks.find(({ name }) => name === 'credential-resource-references');
    expect(check?.detail).not.toContain('{{');
  });

  it('does not fail a write if the names or the schemas cannot be read, and reports the errors', async () => {
    const brokenApi = await createTestApi({
      ...{ store, engine },
      environments: { names: () => Promise.reject(new Error('no names')) },
      describeBlocks: () => Promise.reject(new Error('no schemas')),
    });
    const body = { workspaceId: brokenApi.workspaceId, name: 'Broken' };
    const { data } = await brokenApi.call<{ id: string }>('POST', '/api/v2/workflows', { body });
    const { f } = uniqueIds('f');
    const blocks = { [f]: block('function', { code: 'return {{MISSING}}' }) };
    const response = await brokenApi.call<WriteResult>('PUT', `/api/v2/workflows/${data.id}/state`, {
      body: { blocks, edges: [] },
    });
    expect(response.status).toBe(200);
    expect(response.data.lint.unresolvedReferences).toEqual([]);
    expect(response.data.lint.checks).toContainEqual(
      expect.objectContaining({ name: 'fields', status: 'partial' }),
    );
    expect(brokenApi.reportedErrors.map(String)).toEqual(['Error: no names', 'Error: no schemas']);
  });

  it('skips the checks of a draft that cannot be read, and truncates long lists', async () => {
    const { a } = uniqueIds('a');
    const deepValue = JSON.parse(`${'['.repeat(120)}${']'.repeat(120)}`) as never;
    const unreadableReport = await lintOf({ blocks: { [a]: block('function', { code: deepValue }) } });
    expect(unreadableReport.checks.find(({ name }) => name === 'fields')?.status).toBe('skipped');
    const manyBlocks = Object.fromEntries(
      Array.from({ length: 600 }, (_, index) => [
        `${a}-${index}`,
        block('workflow', { workflowId: `nobody ${index}` }, { name: `n${index}` }),
      ]),
    );
    const truncatedReport = await lintOf({ blocks: manyBlocks });
    expect(truncatedReport.unresolvedReferences).toHaveLength(500);
  });

  it('lists credentials and tables that a write removes, even in a dry run and in operations', async () => {
    const id = await createWorkflow();
    const { x, t } = uniqueIds('x', 't');
    const oldBlocks = {
      [x]: block('gmail', { credential: 'c1', tools: [{ type: 'gmail', params: { credential: 'c2' } }] }),
      [t]: block('table', { tableId: 't1' }),
    };
    expect((await putDraft(id, { blocks: oldBlocks })).removedBindings).toEqual([]);
    const expectedBindings = [
      {
        blockId: x,
        blockName: 'gmail',
        field: 'credential',
        valuePath: [],
        kind: 'credential',
        resourceId: 'c1',
      },
      { blockId: t, blockName: 'table', field: 'tableId', valuePath: [], kind: 'table', resourceId: 't1' },
    ];
    const dryRun = await api.call<WriteResult>('POST', `/api/v2/workflows/${id}/operations?dryRun=true`, {
      body: { operations: [{ operation_type: 'delete', block_id: t }] },
    });
    expect(dryRun.data.removedBindings).toEqual(expectedBindings.slice(1));
    const movedTools = [{ type: 'other' }, { type: 'gmail', params: { credential: 'c2' } }];
    const newBlocks = { [x]: block('gmail', { credential: '', tools: movedTools }) };
    expect((await putDraft(id, { blocks: newBlocks })).removedBindings).toEqual(expectedBindings);
  });
});

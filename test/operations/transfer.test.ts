import type { Principal } from '@heddle/api';
import type { Json, JsonObject } from '@heddle/core';
import { beforeAll, describe, it } from 'vitest';
import type * as exportModule from '../../packages/service/src/transfer/export.ts';
import type * as importModule from '../../packages/service/src/transfer/import.ts';
import type * as planModule from '../../packages/service/src/transfer/plan.ts';
import { expectLinear } from './linear.ts';

type Transfer = typeof exportModule & typeof importModule & typeof planModule;

let transfer: Transfer;

beforeAll(async () => {
  transfer = {
    ...(await import('../../packages/service/src/transfer/export.ts')),
    ...(await import('../../packages/service/src/transfer/import.ts')),
    ...(await import('../../packages/service/src/transfer/plan.ts')),
  };
});

const listOf = <T>(n: number, make: (index: number) => T): T[] =>
  Array.from({ length: n }, (_, index) => make(index));

function block(id: string, fields: { [key: string]: [type: string, value: Json] }): JsonObject {
  const subBlocks = Object.entries(fields).map(([key, [type, value]]) => [key, { id: key, type, value }]);
  return { id, type: 'agent', name: id, subBlocks: Object.fromEntries(subBlocks) as JsonObject };
}

const blocksWith = (type: string, value: Json) => [block('b', { tools: [type, value] })];
const occurrenceOf = (subBlockKey: string) => ({
  blockId: 'b',
  subBlockKey,
  valuePath: [] as (string | number)[],
  encoding: 'array' as const,
});

interface Shape {
  title: string;
  blocks(n: number): JsonObject[];
  manifest?(n: number): Json;
}

const SHAPES: readonly Shape[] = [
  {
    title: 'blocks with references',
    blocks: (n) =>
      listOf(n, (i) => block(`b${i}`, { credential: ['oauth-input', `c${i}`], text: ['code', '{{A}}'] })),
  },
  { title: 'placeholders with the same name', blocks: (n) => blocksWith('code', '{{A}}'.repeat(n)) },
  {
    title: 'placeholders with different names',
    blocks: (n) => blocksWith('code', listOf(n, (i) => `{{A${i}}}`).join('')),
  },
  {
    title: 'tools with credentials',
    blocks: (n) =>
      blocksWith(
        'tool-input',
        listOf(n, (i) => ({ type: 'slack', params: { credential: `c${i}`, text: '{{A}}' } })),
      ),
  },
  {
    title: 'tools in a JSON string',
    blocks: (n) =>
      blocksWith(
        'tool-input',
        JSON.stringify(listOf(n, (i) => ({ type: 'slack', params: { credential: `c${i}` } }))),
      ),
  },
  {
    title: 'ids in a list',
    blocks: (n) => [block('b', { knowledgeBaseIds: ['x', listOf(n, (i) => `k${i}`)] })],
  },
  {
    title: 'a manifest with many references',
    blocks: (n) =>
      listOf(n, (i) => block(`b${i}`, { credential: ['oauth-input', null], text: ['code', '{{A}}'] })),
    manifest: (n) => ({
      version: 1,
      references: listOf(n, (i) => ({
        kind: 'credential',
        sourceId: `c${i}`,
        required: false,
        occurrences: [{ ...occurrenceOf('credential'), blockId: `b${i}`, encoding: 'scalar' }],
      })),
    }),
  },
];

const SIZE = 400;

describe('export and import take time at most proportional to the size of the workflow', () => {
  it.each(SHAPES)('with $title', async ({ blocks, manifest }) => {
    await expectLinear({
      size: SIZE,
      make: (n) => {
        const blocksById = Object.fromEntries(blocks(n).map((item) => [item['id'], item])) as JsonObject;
        const mappings = listOf(n, (i) => ({
          kind: 'credential' as const,
          sourceId: `c${i}`,
          targetId: null,
        }));
        const bindings = listOf(n, (i) => ({
          kind: 'credential' as const,
          blockId: 'bound',
          subBlockKey: `k${i}`,
          targetId: 'c',
          valuePath: [],
          encoding: 'scalar' as const,
        }));
        blocksById['bound'] = block(
          'bound',
          Object.fromEntries(listOf(n, (i) => [`k${i}`, ['oauth-input', null] as [string, Json]])),
        );
        const file = {
          state: { blocks: blocksById, edges: [], variables: {} },
          ...(manifest && { referenceManifest: manifest(n) }),
        };
        return { file, options: { mappings, bindings } };
      },
      run: async ({ file, options: instructions }) => {
        const parsedFile = transfer.readImportFile(file as never);
        const workflow = { id: 'w', name: 'W', description: null, workspaceId: 's', folderPath: '/' };
        const options = { includeReferences: true, includeWorkspaceBindings: false, exportedAt: '' };
        transfer.exportOf(workflow, parsedFile.graph, options);
        const destination = { workspaceId: 's', principal: {} as Principal };
        const plan = await transfer.planImport(parsedFile, instructions, { destination, lookups: {} });
        transfer.warningsOf(parsedFile, plan);
      },
    });
  });
});

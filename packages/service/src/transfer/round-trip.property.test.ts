import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { REFERENCE_KINDS } from './kinds.ts';
import type { PortableGraph } from './graph.ts';
import { readPayload } from './payload.ts';
import { manifestOf, referencesOf } from './references.ts';
import { regenerateIds } from '../workflows/duplicate.ts';
import { rewriteReferences } from './rewrite.ts';
import { sanitize } from './sanitize.ts';

const uuid = (digit: string, number: number): string =>
  `${digit.repeat(8)}-0000-4000-8000-${String(number).padStart(12, '0')}`;
const IDS = [1, 2, 3, 4].map((number) => uuid('a', number));

const text = fc.oneof(
  fc.string(),
  fc.constantFrom(
    '{{HOST}}/x',
    `<${IDS[0]}.result>`,
    '<Start.out>',
    'k1',
    'k1,k2',
    'sk-abc0000000000000000000',
    `[{"id":"${IDS[0]}-if"}]`,
  ),
);
const value: fc.Arbitrary<Json> = fc.oneof(
  text,
  fc.constantFrom<Json>(null, true, 3, ['k1', 'k2'], [{ key: 'f', name: 'n', url: 'u' }]),
  fc.array(
    fc.record({
      type: fc.constantFrom('slack', 'mcp', 'custom-tool'),
      params: fc.dictionary(fc.constantFrom('credential', 'serverId', 'apiKey', 'text'), text, {
        noNullPrototype: true,
      }),
    }),
    { maxLength: 3 },
  ),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
);
const key = fc.constantFrom(
  'credential',
  'tools',
  'knowledgeBaseId',
  'files',
  'text',
  'conditions',
  'apiKey',
  'headers',
);
const type = fc.constantFrom(
  'short-input',
  'tool-input',
  'file-upload',
  'table',
  'oauth-input',
  'code',
  'channel-selector',
);
const subBlocks = fc.dictionary(key, fc.record({ type, value }), { noNullPrototype: true });

const graphs: fc.Arbitrary<PortableGraph> = fc
  .uniqueArray(fc.constantFrom(...IDS), { minLength: 1 })
  .chain((ids) => {
    const id = fc.constantFrom(...ids);
    const block = fc.record({ type: fc.constantFrom('function', 'slack', 'loop'), subBlocks, parentId: id });
    const edge = fc.record({
      source: id,
      target: id,
      sourceHandle: fc.constantFrom('source', 'error', `condition-${ids[0]}-if`),
    });
    return fc
      .record({
        blocks: fc.array(block, { minLength: ids.length, maxLength: ids.length }),
        edges: fc.array(edge, { maxLength: 4 }),
      })
      .map(({ blocks, edges }) => ({
        blocks: Object.fromEntries(
          blocks.map(({ parentId, ...properties }, index) => [
            ids[index],
            { ...properties, id: ids[index], name: `Block ${index}`, data: { parentId } } as JsonObject,
          ]),
        ),
        edges: edges.map((item, index) => ({ ...item, id: `${uuid('e', index)}` })),
        variables: {},
      }));
  });

function exportGraph(graph: PortableGraph): PortableGraph {
  return sanitize(graph).graph;
}

describe('export and import', () => {
  it('return the same export, except for ids', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const first = exportGraph(graph);
        const file = JSON.parse(JSON.stringify({ version: '1.0', state: first })) as Json;
        let lastNumber = 0;
        const imported = regenerateIds(readPayload(file).graph, () => uuid('b', (lastNumber += 1)));
        const second = exportGraph(imported.graph);
        // Restores the old ids with the function that created the new ones.
        const oldIds = new Map([...imported.idMap].map(([before, after]) => [after, before]));
        const newIds = [
          ...Object.keys(second.blocks),
          ...second.edges.map((edge) => (edge as { id: string }).id),
        ];
        let index = 0;
        const restored = regenerateIds(second, () => oldIds.get(newIds[index++] ?? '') ?? '');
        const { blocks, edges, variables } = restored.graph;
        expect(JSON.parse(JSON.stringify({ blocks, edges, variables }))).toEqual(
          JSON.parse(JSON.stringify(first)),
        );
      }),
    );
  });

  it('keep no value that was stored as a credential or key', () => {
    fc.assert(
      fc.property(graphs, fc.constantFrom('credential', 'apiKey'), (graph, name) => {
        const secret = 'never-to-be-exported';
        const [id = ''] = Object.keys(graph.blocks);
        const block = graph.blocks[id] as JsonObject;
        const field = { id: name, type: 'short-input', value: secret };
        const tools = { type: 'tool-input', value: [{ type: 'slack', params: { [name]: secret } }] };
        const blocks = { ...graph.blocks, [id]: { ...block, subBlocks: { [name]: field, tools } } };
        expect(JSON.stringify(exportGraph({ ...graph, blocks }))).not.toContain(secret);
      }),
    );
  });

  it('find the same references after each was replaced with itself', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const references = [...referencesOf(graph, REFERENCE_KINDS)];
        const rewritten = rewriteReferences(
          graph,
          references.map(({ sourceId, occurrence }) => ({ occurrence, targetId: sourceId })),
        );
        expect(manifestOf(referencesOf(rewritten, REFERENCE_KINDS))).toEqual(manifestOf(references));
      }),
    );
  });

  it('leave no reference that was cleared', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const references = [...referencesOf(graph, REFERENCE_KINDS)];
        const cleared = rewriteReferences(
          graph,
          references.map(({ occurrence }) => ({ occurrence, targetId: null })),
        );
        const ids = new Set(
          references
            .filter(({ kind }) => kind !== 'env-var')
            .map(({ kind, sourceId }) => `${kind} ${sourceId}`),
        );
        const remaining = [...referencesOf(cleared, REFERENCE_KINDS)].map(
          ({ kind, sourceId }) => `${kind} ${sourceId}`,
        );
        expect(remaining.filter((item) => ids.has(item))).toEqual([]);
      }),
    );
  });
});

import { describe, expect, it } from 'vitest';
import { measureCpuMs } from '../../../../test/support/cpu.ts';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { REFERENCE_KINDS } from './kinds.ts';
import { manifestOf, referencesOf } from './references.ts';
import type { FoundReference } from './references.ts';
import { rewriteReferences } from './rewrite.ts';

type FieldEntry = [key: string, type: string, value: Json];

function graphOf(type: string, fields: FieldEntry[], blockProperties: JsonObject = {}) {
  const subBlocks = Object.fromEntries(
    fields.map(([key, fieldType, value]) => [key, { id: key, type: fieldType, value }]),
  );
  return {
    blocks: { b: { id: 'b', type, name: 'Block', subBlocks, ...blockProperties } as JsonObject },
    edges: [],
    variables: {},
  };
}

function referencesIn(type: string, fields: FieldEntry[], blockProperties?: JsonObject): FoundReference[] {
  return [...referencesOf(graphOf(type, fields, blockProperties), REFERENCE_KINDS)];
}

/** Returns the references in short form: kind, id, key, path, encoding and positions. */
function summariesOf(type: string, fields: FieldEntry[], blockProperties?: JsonObject) {
  return referencesIn(type, fields, blockProperties).map(
    ({ kind, sourceId, occurrence: { subBlockKey, valuePath, encoding, positions } }) =>
      [kind, sourceId, [subBlockKey, ...valuePath].join('.'), encoding, ...(positions ?? [])].join(' '),
  );
}

/** Returns the values of the block's fields with each id replaced by its target. */
function valuesOf(type: string, fields: FieldEntry[], targets: { [id: string]: string | null }): Json[] {
  const graph = graphOf(type, fields);
  const assignments = [...referencesOf(graph, REFERENCE_KINDS)].flatMap(({ sourceId, occurrence }) =>
    Object.hasOwn(targets, sourceId) ? [{ occurrence, targetId: targets[sourceId] ?? null }] : [],
  );
  const { subBlocks } = rewriteReferences(graph, assignments).blocks['b'] as {
    subBlocks: { [key: string]: { value: Json } };
  };
  return Object.values(subBlocks).map(({ value }) => value);
}

describe('referencesOf', () => {
  const kindCases: [string, string, FieldEntry, string][] = [
    ['credential', 'gmail', ['credential', 'oauth-input', 'c1'], 'credential c1 credential scalar'],
    [
      'env-var',
      'api',
      ['url', 'short-input', 'https://{{HOST}}/{{A}}{{HOST}}'],
      'env-var HOST url environment 0 2',
    ],
    [
      'knowledge-base',
      'knowledge',
      ['knowledgeBaseId', 'knowledge-base-selector', 'k1'],
      'knowledge-base k1 knowledgeBaseId scalar',
    ],
    [
      'knowledge-document',
      'knowledge',
      ['documentId', 'document-selector', 'd1'],
      'knowledge-document d1 documentId scalar',
    ],
    ['table', 'table', ['tableId', 'short-input', 't1'], 'table t1 tableId scalar'],
    ['file', 'x', ['files', 'file-upload', [{ key: 'f1' }, { key: 'f2' }]], 'file f1 files files 0'],
    ['mcp-server', 'mcp', ['server', 'mcp-server-selector', 'm1'], 'mcp-server m1 server scalar'],
    [
      'custom-tool',
      'agent',
      ['tools', 'tool-input', [{ type: 'custom-tool', customToolId: 'ct' }]],
      'custom-tool ct tools.0.customToolId scalar',
    ],
    [
      'custom-block',
      'custom',
      ['customBlockId', 'short-input', 'cb'],
      'custom-block cb customBlockId scalar',
    ],
    ['skill', 'agent', ['skills', 'skill-input', [{ skillId: 's1' }]], 'skill s1 skills.0.skillId scalar'],
    ['sandbox', 'function', ['sandboxId', 'dropdown', 'sb'], 'sandbox sb sandboxId scalar'],
    [
      'workflow',
      'workflow_input',
      ['workflowId', 'workflow-selector', 'w1'],
      'workflow w1 workflowId scalar',
    ],
  ];
  it.each(kindCases)('finds a %s', (_, type, field, expected) => {
    expect(summariesOf(type, [field])[0]).toBe(expected);
  });

  it('finds the definition of a custom block in its type, and no sub-block with the key of another field', () => {
    const fields: FieldEntry[] = [
      ['block.type', 'oauth-input', 'c'],
      ['data.count', 'oauth-input', 'c'],
    ];
    expect(summariesOf('custom_block_a1', fields)).toEqual([
      'custom-block custom_block_a1 block.type scalar',
    ]);
    expect(summariesOf('api', fields)).toEqual([]);
  });

  it('is tested for every kind', () => {
    expect(kindCases.map(([kind]) => kind)).toEqual(REFERENCE_KINDS.map(({ kind }) => kind));
  });

  it('finds references of nested tools, in lists and in JSON text', () => {
    const tools = [
      { type: 'gmail', params: { credential: 'c1', to: '{{TO}}' } },
      { type: 'mcp', params: { serverId: 'm1', toolName: 't' } },
      { type: 'workflow_input', params: { workflowId: 'w1' } },
      { type: 'github', params: { workflowId: 'no-workflow-of-ours' } },
    ];
    const expected = [
      'credential c1 tools.0.params.credential scalar',
      'mcp-server m1 tools.1.params.serverId scalar',
      'workflow w1 tools.2.params.workflowId scalar',
      'env-var TO tools.0.params.to environment 0',
    ];
    expect(summariesOf('agent', [['tools', 'tool-input', tools]])).toEqual(expected);
    expect(summariesOf('agent', [['tools', 'short-input', JSON.stringify(tools)]])).toEqual(expected);
  });

  it('finds several ids in lists and comma-separated text', () => {
    expect(summariesOf('knowledge', [['knowledgeBaseIds', 'x', 'a, b,,a']])).toEqual([
      'knowledge-base a knowledgeBaseIds csv 0 3',
      'knowledge-base b knowledgeBaseIds csv 1',
    ]);
    expect(summariesOf('knowledge', [['knowledgeBaseIds', 'x', ['a', '<start.kb>', 'b']]])).toEqual([
      'knowledge-base a knowledgeBaseIds array 0',
      'knowledge-base b knowledgeBaseIds array 2',
    ]);
  });

  it('does not treat references or placeholders as ids', () => {
    expect(summariesOf('gmail', [['credential', 'oauth-input', '<start.credential>']])).toEqual([]);
    expect(summariesOf('gmail', [['credential', 'oauth-input', '{{C}}']])).toEqual([
      'env-var C credential environment 0',
    ]);
    expect(summariesOf('gmail', [['credential', 'oauth-input', ' ']])).toEqual([]);
  });

  it('finds placeholders in fields of containers', () => {
    expect(summariesOf('loop', [], { data: { collection: '{{ITEMS}}', width: 3 } })).toEqual([
      'env-var ITEMS data.collection environment 0',
    ]);
  });

  it('marks the references without which the block cannot run', () => {
    const requiredFlagsOf = (type: string, field: FieldEntry) =>
      referencesIn(type, [field]).map((reference) => reference.required);
    expect(requiredFlagsOf('workflow', ['workflowId', 'workflow-selector', 'w'])).toEqual([true]);
    expect(requiredFlagsOf('function', ['sandboxId', 'dropdown', 's'])).toEqual([false]);
  });

  it('skips keys of Object.prototype, long keys, and values deeper than a path may be', () => {
    const value = JSON.parse('{"__proto__":"{{A}}","constructor":"{{B}}","ok":"{{C}}"}') as Json;
    let deepValue: Json = '{{D}}';
    for (let n = 0; n < 9; n++) deepValue = [deepValue];
    const fields: FieldEntry[] = [
      ['body', 'code', value],
      ['deep', 'code', deepValue],
      ['k'.repeat(300), 'code', '{{E}}'],
      ['prototype', 'code', '{{F}}'],
    ];
    expect(summariesOf('api', fields)).toEqual(['env-var C body.ok environment 0']);
  });
});

describe('manifestOf', () => {
  it('groups occurrences by kind and id', () => {
    const fields: FieldEntry[] = [
      ['credential', 'oauth-input', 'same'],
      ['otherCredential', 'oauth-input', 'same'],
      ['sandboxId', 'dropdown', 'same'],
    ];
    const { manifest, isComplete } = manifestOf(referencesIn('x', fields));
    expect(isComplete).toBe(true);
    expect(manifest.references.map(({ kind, occurrences }) => [kind, occurrences.length])).toEqual([
      ['credential', 2],
      ['sandbox', 1],
    ]);
  });

  it('has at most 10,000 occurrences, and reports if there are more', () => {
    const fields = Array.from({ length: 10_001 }, (_, n): FieldEntry => [`k${n}`, 'code', '{{A}}']);
    const { manifest, isComplete } = manifestOf(referencesOf(graphOf('api', fields), REFERENCE_KINDS));
    expect(isComplete).toBe(false);
    expect(manifest.references[0]?.occurrences).toHaveLength(10_000);
  });
});

describe('rewriteReferences', () => {
  it('replaces ids in every encoding', () => {
    const fields: FieldEntry[] = [
      ['credential', 'oauth-input', 'a'],
      ['knowledgeBaseIds', 'x', 'a, b,a'],
      ['knowledgeBaseSelector', 'x', ['b', 'a', '<start.kb>']],
      ['files', 'file-upload', [{ key: 'a', name: 'n', url: 'u' }, { key: 'b' }]],
      ['text', 'long-input', 'x {{a}} {{b}} {{a}}'],
    ];
    expect(valuesOf('x', fields, { a: 'Z' })).toEqual([
      'Z',
      'Z,b,Z',
      ['b', 'Z', '<start.kb>'],
      [{ key: 'Z', name: 'n' }, { key: 'b' }],
      'x {{Z}} {{b}} {{Z}}',
    ]);
  });

  it('clears ids in every encoding', () => {
    const fields: FieldEntry[] = [
      ['credential', 'oauth-input', 'a'],
      ['knowledgeBaseIds', 'x', 'a,b'],
      ['knowledgeBaseSelector', 'x', ['a']],
      ['files', 'file-upload', { key: 'a' }],
      ['text', 'long-input', 'x {{a}}!'],
    ];
    expect(valuesOf('x', fields, { a: null })).toEqual([null, 'b', [], null, 'x !']);
  });

  it('replaces several ids of one list together, even if they swap places', () => {
    expect(valuesOf('x', [['knowledgeBaseIds', 'x', 'a,b,c']], { a: 'b', b: 'a', c: null })).toEqual(['b,a']);
    expect(valuesOf('x', [['text', 'code', '{{a}}{{b}}']], { a: 'b', b: 'a' })).toEqual(['{{b}}{{a}}']);
  });

  it('replaces ids in tools that are JSON text, and keeps the JSON text', () => {
    const tools = [{ type: 'gmail', params: { credential: 'a' } }];
    const rewrittenTools = [{ type: 'gmail', params: { credential: 'Z' } }];
    expect(valuesOf('agent', [['tools', 'x', JSON.stringify(tools)]], { a: 'Z' })).toEqual([
      JSON.stringify(rewrittenTools),
    ]);
  });

  it('replaces the type of a custom block, and keeps the type when the reference is cleared', () => {
    const graph = graphOf('custom_block_a1', []);
    const rewrittenTypeFor = (targetId: string | null) => {
      const assignments = [...referencesOf(graph, REFERENCE_KINDS)].map(({ occurrence }) => ({
        occurrence,
        targetId,
      }));
      return rewriteReferences(graph, assignments).blocks['b']?.['type'];
    };
    expect([rewrittenTypeFor('custom_block_b2'), rewrittenTypeFor(null)]).toEqual([
      'custom_block_b2',
      'custom_block_a1',
    ]);
  });

  it('restores ids where an export has cleared them', () => {
    const graph = graphOf('knowledge', [
      ['credential', 'oauth-input', null],
      ['knowledgeBaseIds', 'x', null],
      ['documentId', 'x', null],
    ]);
    const occurrenceAt = (subBlockKey: string, properties: object) =>
      ({ blockId: 'b', subBlockKey, valuePath: [], ...properties }) as never;
    const rewrittenGraph = rewriteReferences(graph, [
      { occurrence: occurrenceAt('credential', { encoding: 'scalar' }), targetId: 'C' },
      { occurrence: occurrenceAt('knowledgeBaseIds', { encoding: 'csv', positions: [1] }), targetId: 'B' },
      { occurrence: occurrenceAt('knowledgeBaseIds', { encoding: 'csv', positions: [0] }), targetId: 'A' },
      { occurrence: occurrenceAt('documentId', { encoding: 'array', positions: [0] }), targetId: 'D' },
    ]);
    const { subBlocks } = rewrittenGraph.blocks['b'] as { subBlocks: { [key: string]: { value: Json } } };
    expect(Object.values(subBlocks).map(({ value }) => value)).toEqual(['C', 'A,B', ['D']]);
  });

  it('ignores locations that the graph does not have, and changes no prototype', () => {
    const graph = graphOf('api', [['body', 'code', { a: 'x', list: ['y'] }]]);
    const paths = [
      ['b'],
      ['__proto__', 'polluted'],
      ['constructor', 'prototype'],
      ['list', 5],
      ['a', 'length'],
      ['list', 'length'],
    ];
    for (const valuePath of paths) {
      const occurrence = { blockId: 'b', subBlockKey: 'body', valuePath, encoding: 'scalar' as const };
      expect(rewriteReferences(graph, [{ occurrence, targetId: 'Z' }])).toEqual(graph);
    }
    const unknownOccurrence = {
      blockId: '__proto__',
      subBlockKey: 'x',
      valuePath: [],
      encoding: 'scalar' as const,
    };
    expect(rewriteReferences(graph, [{ occurrence: unknownOccurrence, targetId: 'Z' }])).toEqual(graph);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('replaces 10,000 occurrences in linear time', () => {
    const graph = graphOf('api', [
      ['text', 'code', '{{a}}'.repeat(2000)],
      ...Array.from({ length: 8000 }, (_, n): FieldEntry => [`k${n}`, 'code', '{{a}}']),
    ]);
    const cpuMs = measureCpuMs(() => {
      const assignments = [...referencesOf(graph, REFERENCE_KINDS)].map(({ occurrence }) => ({
        occurrence,
        targetId: 'Z',
      }));
      expect(JSON.stringify(rewriteReferences(graph, assignments))).not.toContain('{{a}}');
    });
    expect(cpuMs).toBeLessThan(2000);
  });
});

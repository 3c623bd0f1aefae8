import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { readPayload } from './payload.ts';

const block = { id: 'b', type: 'api', name: 'B' };
const state: JsonObject = { blocks: { b: block }, edges: [{ source: 'b', target: 'b' }] };

describe('readPayload', () => {
  const forms: [string, Json][] = [
    ['an export', { version: '1.0', workflow: { name: 'W' }, state }],
    ['an export within data', { data: { version: '1.0', workflow: { name: 'W' }, state } }],
    ['a state with its name', { state: { ...state, metadata: { name: 'W' } } }],
    ['a state', { ...state, metadata: { name: 'W' } }],
    ['JSON text', JSON.stringify({ version: '1.0', workflow: { name: 'W' }, state })],
  ];
  it.each(forms)('reads %s', (_, input) => {
    const { name, graph } = readPayload(input);
    expect(name).toBe('W');
    expect(graph.blocks).toEqual({ b: block });
    expect(graph.edges).toHaveLength(1);
  });

  it('reads variables as an object, an array or JSON text', () => {
    const variable = { id: 'v', name: 'n', type: 'string', value: 1 };
    for (const variables of [{ v: variable }, [variable], JSON.stringify({ v: variable })]) {
      expect(readPayload({ ...state, variables }).graph.variables).toEqual({ v: variable });
    }
  });

  const reference = { kind: 'table', sourceId: 't', required: true };
  const occurrence = { blockId: 'b', subBlockKey: 'k', valuePath: ['a', 0], encoding: 'scalar' };
  const withManifest = (references: Json): Json => ({ state, referenceManifest: { version: 1, references } });

  it('reads a manifest of references', () => {
    const { manifest } = readPayload(withManifest([{ ...reference, occurrences: [occurrence] }]));
    expect(manifest?.references[0]?.occurrences).toEqual([occurrence]);
  });

  const invalidFiles: [string, Json, string][] = [
    ['text that is not JSON', '{', 'a string that is not JSON'],
    ['an array', [], 'workflow must be an object'],
    ['a state without blocks', { edges: [] }, 'state.blocks'],
    ['a state without edges', { blocks: {} }, 'state.edges'],
    ['a block without a type', { blocks: { b: { name: 'x' } }, edges: [] }, 'blocks.b.type'],
    ['a block without a name', { blocks: { b: { type: 'x' } }, edges: [] }, 'blocks.b.name'],
    ['a block that is not an object', { blocks: { b: 3 }, edges: [] }, 'blocks.b must be'],
    ['an edge without a target', { blocks: {}, edges: [{ source: 'b' }] }, 'edges.0'],
    [
      'a block with the id __proto__',
      JSON.parse('{"blocks":{"__proto__":{"type":"a","name":"b"}},"edges":[]}') as Json,
      '__proto__',
    ],
    [
      'too many blocks',
      { blocks: Object.fromEntries(Array.from({ length: 2001 }, (_, n) => [`b${n}`, block])), edges: [] },
      'at most 2000 blocks',
    ],
    [
      'a manifest of another version',
      { state, referenceManifest: { version: 2, references: [] } },
      'referenceManifest.version',
    ],
    [
      'a manifest with an unknown kind',
      withManifest([{ ...reference, kind: 'x', occurrences: [occurrence] }]),
      'references.0.kind',
    ],
    [
      'a manifest with a refused key',
      withManifest([{ ...reference, occurrences: [{ ...occurrence, valuePath: ['__proto__'] }] }]),
      'valuePath.0',
    ],
    [
      'a manifest with a long path',
      withManifest([
        { ...reference, occurrences: [{ ...occurrence, valuePath: Array.from({ length: 9 }, () => 'a') }] },
      ]),
      'valuePath',
    ],
    [
      'a manifest with too many occurrences',
      withManifest(
        Array.from({ length: 2 }, () => ({
          ...reference,
          occurrences: Array.from({ length: 5001 }, () => occurrence),
        })),
      ),
      '10000 occurrences',
    ],
  ];
  it.each(invalidFiles)('refuses %s', (_, input, message) => {
    expect(() => readPayload(input)).toThrow(message);
  });

  it('refuses a file that is nested too deeply, as a value and as JSON text', () => {
    let nestedValue: Json = 1;
    for (let n = 0; n < 200; n++) nestedValue = [nestedValue];
    const text = `{"blocks":{},"edges":[],"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
    expect(() => readPayload({ ...state, deep: nestedValue })).toThrow('levels deep');
    expect(() => readPayload(text)).toThrow('levels deep');
  });
});

import fc from 'fast-check';
import type { Json, JsonObject } from '../../packages/core/src/json.ts';
import { workflowFile } from './workflow-file.ts';
import type { BlockSettings } from './workflow-file.ts';

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', '7', '10', 'constructor', 'L', 'M', 'P', 'Q'];
const NAMES = ['Fetch', 'fetch', 'Fetch.2', 'My Block', 'div', 'L', 'A+B', 'Über', '…', 'toString'];
const TYPES = [
  'function',
  'condition',
  'response',
  'variables',
  'agent',
  'slack',
  'wait',
  'note',
  'router_v2',
];
const PORTS = ['', ':error', ':source', ':source-right', ':odd', ':condition-x', ':loop-start-source'];
const TEXTS = [
  ...[
    '<start.x>',
    '<fetch.result.a[0]>',
    '<fetsh.x>',
    '<loop.index>',
    '<parallel.currentItem>',
    '<variable.n>',
  ],
  ...[
    '<variable.m>',
    '{{KEY}}',
    'return 1',
    '<myblock>',
    '<L.results[0]>',
    '<div>',
    '"<start.x>"',
    '`',
    '// <a.b>',
  ],
  ...["['a', 'b']", '[1, {"k": "{{KEY}}"}]', 'null', '3', '-1', '2.5', '<start.n> < 3', ''],
];

const text = fc.array(fc.constantFrom(...TEXTS), { maxLength: 3 }).map((parts) => parts.join(' '));
const value: fc.Arbitrary<Json> = fc.oneof(text, fc.constantFrom<Json>(null, 0, 5, true, 'x'), nestedValue());
const branches = fc
  .array(fc.record({ id: fc.constantFrom('x', 'y'), title: fc.constantFrom('if', 'else'), value: text }), {
    maxLength: 3,
  })
  .chain((list) => fc.constantFrom<Json>(list, JSON.stringify(list), '[bad'));

function nestedValue(): fc.Arbitrary<Json> {
  const object = fc.record({ b: text, a: fc.array(text, { maxLength: 2 }), c: fc.integer() });
  return fc.oneof(object, fc.array(object, { maxLength: 2 })) as fc.Arbitrary<Json>;
}

const containerBlock: fc.Arbitrary<BlockSettings> = fc
  .record({
    type: fc.constantFrom('loop', 'parallel'),
    data: fc.record(
      {
        loopType: fc.constantFrom<Json>('for', 'forEach', 'while', 'doWhile', 'odd'),
        parallelType: fc.constantFrom<Json>('count', 'collection', 'odd'),
        count: value,
        collection: value,
        whileCondition: text,
        doWhileCondition: text,
        batchSize: fc.constantFrom<Json>(0, 3, 50, 'x', null),
        onBranchError: fc.constant('collect'),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ type, data }) => ({ type, data: data as JsonObject }));

const plainBlock: fc.Arbitrary<BlockSettings> = fc
  .record({
    type: fc.constantFrom(...TYPES),
    fields: fc.record(
      { code: text, conditions: branches, routes: branches, data: value },
      { requiredKeys: [] },
    ),
    retry: fc.constantFrom<Json>(
      null,
      { enabled: true },
      { enabled: true, maxTries: 9, waitBetweenTriesMs: 'x' },
    ),
  })
  .map(({ type, fields, retry }) => ({ type, fields: fields as JsonObject, retry }));

const block = fc
  .record({
    base: fc.oneof({ weight: 3, arbitrary: plainBlock }, { weight: 2, arbitrary: containerBlock }),
    name: fc.option(fc.constantFrom(...NAMES), { nil: undefined }),
    parentId: fc.option(fc.constantFrom(...IDS), { nil: undefined }),
    enabled: fc.constantFrom(true, true, true, true, false),
  })
  .map(({ base, name, parentId, enabled }): BlockSettings => ({
    ...base,
    enabled,
    ...(name !== undefined && { name }),
    ...(parentId !== undefined && { parentId }),
  }));

const variable = fc.record({
  name: fc.constantFrom('n', 'N', 'other'),
  type: fc.constantFrom('number', 'array', 'object', 'date'),
  value,
});

/** Workflow files with one start block and random edges, containers, names and references. Most of them are invalid. */
export const arbitraryFile: fc.Arbitrary<{ state: JsonObject }> = fc
  .record({
    blocks: fc.dictionary(fc.constantFrom(...IDS), block, { maxKeys: 9, noNullPrototype: true }),
    edges: fc.array(
      fc.tuple(fc.constantFrom('s', ...IDS), fc.constantFrom(...PORTS), fc.constantFrom(...IDS)),
      { maxLength: 16 },
    ),
    variables: fc.dictionary(fc.constantFrom('v', 'w'), variable, { noNullPrototype: true }),
    loopNodes: fc.dictionary(
      fc.constantFrom('L', 'P', 'a'),
      fc.array(fc.constantFrom(...IDS), { maxLength: 3 }),
    ),
  })
  .map(({ blocks, edges, variables, loopNodes }) => {
    const fields = { inputFormat: [{ id: '1', name: 'x', type: 'string' }] };
    const loops = Object.entries(loopNodes).map(([id, nodes]): [string, Json] => [
      id,
      { id, nodes, iterations: 2 },
    ]);
    return workflowFile({
      blocks: { s: { type: 'start_trigger', name: 'Start', fields }, ...blocks },
      edges: edges.map(([source, port, target]) => `${source}${port} > ${target}`),
      state: { variables: variables as JsonObject, loops: Object.fromEntries(loops) },
    });
  });

/** Valid files with acyclic graphs: an edge leads to a later block of the same container, or into a container. */
export const arbitraryValidFile: fc.Arbitrary<{ state: JsonObject }> = fc
  .record({
    parents: fc.array(fc.nat(), { minLength: 1, maxLength: 12 }),
    kinds: fc.array(fc.constantFrom('function', 'loop', 'parallel', 'condition'), {
      minLength: 12,
      maxLength: 12,
    }),
    edges: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.constantFrom('', '', ':error')), { maxLength: 20 }),
  })
  .map(({ parents, kinds, edges }) => buildValidFile(parents, kinds, edges));

function buildValidFile(
  parentChoices: readonly number[],
  kinds: readonly string[],
  edgeChoices: readonly (readonly [number, number, string])[],
): { state: JsonObject } {
  const blocks: { [id: string]: BlockSettings } = { s: { type: 'start_trigger', name: 'Start' } };
  const edges: string[] = [];
  const parentIds: (string | undefined)[] = [];
  const isContainer = (index: number): boolean => kinds[index] === 'loop' || kinds[index] === 'parallel';
  parentChoices.forEach((parentChoice, index) => {
    const candidates = [
      undefined,
      ...parentChoices.flatMap((_, otherIndex) =>
        otherIndex < index && isContainer(otherIndex) ? [`n${otherIndex}`] : [],
      ),
    ];
    const parentId = candidates[parentChoice % candidates.length];
    parentIds.push(parentId);
    const id = `n${index}`;
    blocks[id] = {
      type: kinds[index] as string,
      fields: { code: `return <n${(index * 7) % parentChoices.length}.result>`, conditions: '[]' },
      ...(parentId !== undefined && { parentId }),
      ...(isContainer(index) && { data: { count: 2 } }),
    };
    edges.push(parentId === undefined ? `s > ${id}` : `${parentId} > ${id}`);
    if (isContainer(index)) {
      blocks[`${id}x`] = { parentId: id, fields: { code: 'return <loop.index>' }, name: `${id}x` };
      edges.push(`${id}:loop-start-source > ${id}x`);
      if (kinds[index] === 'parallel') blocks[`${id}x`] = { parentId: id, fields: { code: 'return 1' } };
    }
  });
  for (const [firstChoice, secondChoice, port] of edgeChoices) {
    const sourceIndex = Math.min(firstChoice % parentChoices.length, secondChoice % parentChoices.length);
    const targetIndex = Math.max(firstChoice % parentChoices.length, secondChoice % parentChoices.length);
    if (sourceIndex !== targetIndex && parentIds[sourceIndex] === parentIds[targetIndex])
      edges.push(`n${sourceIndex}${port} > n${targetIndex}`);
  }
  return workflowFile({ blocks, edges });
}

/** Returns the value with the keys of every object in random order. */
export function shuffle(value: Json, random: () => number): Json {
  if (Array.isArray(value)) return value.map((item) => shuffle(item, random));
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.keys(value).map((key) => ({ key, rank: random() }));
  keys.sort((a, b) => a.rank - b.rank);
  return Object.fromEntries(keys.map(({ key }) => [key, shuffle(value[key] as Json, random)]));
}

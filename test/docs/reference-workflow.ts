import { BlockError } from '@heddle/core';
import type { BlockExecutor, Json } from '@heddle/core';
import { block, condition, fn, loop, parallel, workflow } from '../support/workflow.ts';
import type { TestBlock } from '../support/workflow.ts';

/** Outputs the values of two fields: `text` as a string, `value` with the type of a single reference. */
export const echo: BlockExecutor = {
  types: ['echo'],
  class: 'compute',
  execute: (context) => ({
    output: { text: context.field('text') ?? null, value: context.field('value', 'native') ?? null },
  }),
};

/** Always fails. */
export const fail: BlockExecutor = {
  types: ['fail'],
  class: 'compute',
  execute() {
    throw new BlockError('BLOCK_FAILED', 'it broke', { retryable: false });
  },
};

/** The environment of the runs in docs/references.md, as the page shows it. */
export const ENV = {
  CITY: { value: 'Paris', secret: false },
  LIMIT: { value: '10', secret: false },
} as const;

const VARIABLES = {
  counter: { type: 'number', value: 5 },
  'My List': { type: 'array', value: [1, 2] },
} as const;

const TYPES: { [field: string]: string } = {
  name: 'string',
  n: 'number',
  flag: 'string',
  list: 'array',
  deep: 'object',
  nothing: 'object',
  tricky: 'string',
  hostile: 'string',
  path: 'string',
};

const EARLIER_BLOCKS: readonly TestBlock[] = [
  condition('Gate', { yes: 'false' }),
  fn('Never', 'return 1'),
  fn('Calc', 'return { total: 3 }'),
  block('Fails', 'fail'),
  block('Handler', 'echo'),
  loop('Pairs', { loopType: 'for', count: 2 }, block('Cell', 'echo', { value: '<loop.index>' })),
];

const EARLIER_EDGES = [
  'Start -> Gate -> Calc -> Fails',
  'Gate:yes -> Never',
  'Fails:error -> Handler -> Pairs',
  'Pairs -> Cell',
];

/** A context of the page: the blocks that read a reference, the edges to these blocks, and the path of the value. */
interface Context {
  blocks(written: string): TestBlock[];
  edges: readonly string[];
  /** A path into the output of the run's block `Reader` or `Rows`. */
  select: string;
  /** Returns the part of the selected value that the page shows. */
  summarize?(value: Json): Json;
}

const reader = { edges: ['Pairs -> Reader'] };
const inRows = { edges: ['Pairs -> Rows', 'Rows -> Reader'] };

function values(results: Json): Json {
  return (results as { value: Json }[][]).map(([first]) => first?.value ?? null);
}

function rows(kind: 'loop' | 'parallel', data: { [key: string]: Json }, written: string): TestBlock[] {
  const inner = block('Reader', 'echo', { value: written });
  return [kind === 'loop' ? loop('Rows', data, inner) : parallel('Rows', data, inner)];
}

const LETTERS = '["a", "b"]';

/** The contexts of docs/references.md, by the names of its tables. */
export const CONTEXTS: { readonly [name: string]: Context } = {
  text: {
    ...reader,
    select: 'Reader.text',
    blocks: (written) => [block('Reader', 'echo', { text: written })],
  },
  native: {
    ...reader,
    select: 'Reader.value',
    blocks: (written) => [block('Reader', 'echo', { value: written })],
  },
  json: {
    ...reader,
    select: 'Reader.data',
    blocks: (written) => [block('Reader', 'response', { dataMode: 'json', data: written })],
  },
  javascript: { ...reader, select: 'Reader.result', blocks: (written) => [fn('Reader', written)] },
  condition: {
    ...reader,
    select: 'Reader.conditionResult',
    blocks: (written) => [condition('Reader', { yes: written })],
  },
  count: {
    ...inRows,
    select: 'Rows.results',
    summarize: (results) => (results as Json[]).length,
    blocks: (written) => rows('loop', { loopType: 'for', count: written }, '<loop.index>'),
  },
  while: {
    ...inRows,
    select: 'Rows.results',
    summarize: (results) => (results as Json[]).length,
    blocks: (written) => rows('loop', { loopType: 'while', whileCondition: written }, '<loop.index>'),
  },
  collection: {
    ...inRows,
    select: 'Rows.results',
    summarize: values,
    blocks: (written) => rows('loop', { loopType: 'forEach', collection: written }, '<loop.currentItem>'),
  },
  'in a loop': {
    ...inRows,
    select: 'Rows.results',
    summarize: values,
    blocks: (written) => rows('loop', { loopType: 'forEach', collection: LETTERS }, written),
  },
  'in a counting loop': {
    ...inRows,
    select: 'Rows.results',
    summarize: values,
    blocks: (written) => rows('loop', { loopType: 'for', count: 2 }, written),
  },
  'in a parallel': {
    ...inRows,
    select: 'Rows.results',
    summarize: values,
    blocks: (written) => rows('parallel', { parallelType: 'collection', collection: LETTERS }, written),
  },
};

/** Returns a workflow with the string `written` in the field of a context. */
export function workflowWith(context: Context, written: string): Json {
  return workflow([...EARLIER_BLOCKS, ...context.blocks(written)], [...EARLIER_EDGES, ...context.edges], {
    variables: VARIABLES as unknown as { [name: string]: { type: string; value: Json } },
    inputFormat: Object.entries(TYPES).map(([name, type]) => ({ name, type })),
  });
}

import { BlockError } from '@heddle/core';
import type { BlockExecutor, Json } from '@heddle/core';
import { block, condition, fn, loop, parallel, workflow } from '../support/workflow.ts';
import type { TestBlock } from '../support/workflow.ts';

/** Outputs the values of two fields: `text` as a string, `value` with the type of a single reference. */
export const echoExecutor: BlockExecutor = {
  types: ['echo'],
  class: 'compute',
  execute: (context) => ({
    output: { text: context.field('text') ?? null, value: context.field('value', 'native') ?? null },
  }),
};

/** Always fails. */
export const failingExecutor: BlockExecutor = {
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

const INPUT_TYPES: { [field: string]: string } = {
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

/** A field in which the page shows references: the blocks with the field, their edges, and the path of the value. */
interface FieldContext {
  blocks(fieldText: string): TestBlock[];
  edges: readonly string[];
  /** A path into the output of the run's block `Reader` or `Rows`. */
  outputPath: string;
  /** Returns the part of the selected value that the page shows. */
  summarize?(value: Json): Json;
}

const READER_EDGES = ['Pairs -> Reader'];
const ROWS_EDGES = ['Pairs -> Rows', 'Rows -> Reader'];

function iterationValues(results: Json): Json {
  return (results as { value: Json }[][]).map(([firstOutput]) => firstOutput?.value ?? null);
}

function rowsContainer(
  kind: 'loop' | 'parallel',
  data: { [key: string]: Json },
  fieldText: string,
): TestBlock[] {
  const readerBlock = block('Reader', 'echo', { value: fieldText });
  return [kind === 'loop' ? loop('Rows', data, readerBlock) : parallel('Rows', data, readerBlock)];
}

const LETTERS = '["a", "b"]';

/** The contexts of docs/references.md, by the names of its tables. */
export const CONTEXTS: { readonly [name: string]: FieldContext } = {
  text: {
    edges: READER_EDGES,
    outputPath: 'Reader.text',
    blocks: (fieldText) => [block('Reader', 'echo', { text: fieldText })],
  },
  native: {
    edges: READER_EDGES,
    outputPath: 'Reader.value',
    blocks: (fieldText) => [block('Reader', 'echo', { value: fieldText })],
  },
  json: {
    edges: READER_EDGES,
    outputPath: 'Reader.data',
    blocks: (fieldText) => [block('Reader', 'response', { dataMode: 'json', data: fieldText })],
  },
  javascript: {
    edges: READER_EDGES,
    outputPath: 'Reader.result',
    blocks: (fieldText) => [fn('Reader', fieldText)],
  },
  condition: {
    edges: READER_EDGES,
    outputPath: 'Reader.conditionResult',
    blocks: (fieldText) => [condition('Reader', { yes: fieldText })],
  },
  count: {
    edges: ROWS_EDGES,
    outputPath: 'Rows.results',
    summarize: (results) => (results as Json[]).length,
    blocks: (fieldText) => rowsContainer('loop', { loopType: 'for', count: fieldText }, '<loop.index>'),
  },
  while: {
    edges: ROWS_EDGES,
    outputPath: 'Rows.results',
    summarize: (results) => (results as Json[]).length,
    blocks: (fieldText) =>
      rowsContainer('loop', { loopType: 'while', whileCondition: fieldText }, '<loop.index>'),
  },
  collection: {
    edges: ROWS_EDGES,
    outputPath: 'Rows.results',
    summarize: iterationValues,
    blocks: (fieldText) =>
      rowsContainer('loop', { loopType: 'forEach', collection: fieldText }, '<loop.currentItem>'),
  },
  'in a loop': {
    edges: ROWS_EDGES,
    outputPath: 'Rows.results',
    summarize: iterationValues,
    blocks: (fieldText) => rowsContainer('loop', { loopType: 'forEach', collection: LETTERS }, fieldText),
  },
  'in a counting loop': {
    edges: ROWS_EDGES,
    outputPath: 'Rows.results',
    summarize: iterationValues,
    blocks: (fieldText) => rowsContainer('loop', { loopType: 'for', count: 2 }, fieldText),
  },
  'in a parallel': {
    edges: ROWS_EDGES,
    outputPath: 'Rows.results',
    summarize: iterationValues,
    blocks: (fieldText) =>
      rowsContainer('parallel', { parallelType: 'collection', collection: LETTERS }, fieldText),
  },
};

/** Returns a workflow with the string `fieldText` in the field of a context. */
export function workflowWith(context: FieldContext, fieldText: string): Json {
  return workflow([...EARLIER_BLOCKS, ...context.blocks(fieldText)], [...EARLIER_EDGES, ...context.edges], {
    variables: VARIABLES as unknown as { [name: string]: { type: string; value: Json } },
    inputFormat: Object.entries(INPUT_TYPES).map(([name, type]) => ({ name, type })),
  });
}

import * as z from 'zod';
import { beforeAll, describe, it } from 'vitest';
import type { Json, JsonObject } from '../../packages/core/src/json.ts';
import type * as blocks from '../support/block.ts';
import type * as executors from '../../packages/engine/src/executors/built-ins.ts';
import type * as startBlock from '../../packages/engine/src/executors/start.ts';
import type * as resume from '../../packages/engine/src/executors/human-resume.ts';
import type * as copies from '../../packages/engine/src/json-copy.ts';
import type * as mocks from '../../packages/engine/src/mocks/mocks.ts';
import type * as redaction from '../../packages/engine/src/secrets/redactor.ts';
import type * as cursors from '../../packages/api/src/cursor.ts';
import type * as inputs from '../../packages/api/src/admission/input-limits.ts';
import type * as publicResults from '../../packages/api/src/areas/runs/public-result.ts';
import type * as selectors from '../../packages/api/src/areas/runs/selected-outputs.ts';
import type * as graphs from '../../packages/service/src/workflows/graph.ts';
import type * as requests from '../../packages/api/src/http/parse.ts';
import type * as linting from '../../packages/service/src/workflows/lint/report.ts';
import type * as resources from '../../packages/service/src/workflows/lint/resources.ts';
import type * as bindings from '../../packages/service/src/workflows/lint/bindings.ts';
import type * as files from '../../packages/core/src/file-record.ts';
import { expectLinear } from './linear.ts';
import type { MeasuredWork } from './linear.ts';

type Modules = typeof blocks &
  typeof executors &
  typeof startBlock &
  typeof resume &
  typeof copies &
  typeof mocks &
  typeof redaction &
  typeof cursors &
  typeof inputs &
  typeof publicResults &
  typeof selectors &
  typeof graphs &
  typeof linting &
  typeof resources &
  typeof bindings &
  typeof requests &
  typeof files;

let modules: Modules;

beforeAll(async () => {
  modules = {
    ...(await import('../support/block.ts')),
    ...(await import('../../packages/engine/src/executors/built-ins.ts')),
    ...(await import('../../packages/engine/src/executors/start.ts')),
    ...(await import('../../packages/engine/src/executors/human-resume.ts')),
    ...(await import('../../packages/engine/src/json-copy.ts')),
    ...(await import('../../packages/engine/src/mocks/mocks.ts')),
    ...(await import('../../packages/engine/src/secrets/redactor.ts')),
    ...(await import('../../packages/api/src/cursor.ts')),
    ...(await import('../../packages/api/src/admission/input-limits.ts')),
    ...(await import('../../packages/api/src/areas/runs/public-result.ts')),
    ...(await import('../../packages/api/src/areas/runs/selected-outputs.ts')),
    ...(await import('../../packages/service/src/workflows/graph.ts')),
    ...(await import('../../packages/service/src/workflows/lint/report.ts')),
    ...(await import('../../packages/service/src/workflows/lint/resources.ts')),
    ...(await import('../../packages/service/src/workflows/lint/bindings.ts')),
    ...(await import('../../packages/api/src/http/parse.ts')),
    ...(await import('../../packages/core/src/file-record.ts')),
  };
});

/** Request limits without maximum sizes and timeouts. */
const UNLIMITED = {
  params: {},
  limits: { bytes: Infinity, values: Infinity },
  maxBytes: Infinity,
  repeat: () => () => undefined,
};

function listOf<T>(n: number, make: (index: number) => T): T[] {
  return Array.from({ length: n }, (_, index) => make(index));
}

function objectOf(n: number, make: (index: number) => [string, Json]): JsonObject {
  return Object.fromEntries(listOf(n, make));
}

function nestedValue(n: number): Json {
  let value: Json = 'end';
  for (let depth = 0; depth < n; depth++) value = depth % 2 === 0 ? [value] : { k: value };
  return value;
}

const SECRET = 'p@ss"w/ör d+1';
const URL_ENCODINGS = [
  encodeURIComponent(SECRET),
  encodeURI(SECRET),
  new URLSearchParams({ k: SECRET }).toString().slice(2),
];
const SECRET_ENCODINGS = [
  SECRET,
  JSON.stringify(SECRET).slice(1, -1),
  ...URL_ENCODINGS,
  ...URL_ENCODINGS.map((text) => text.replace(/%../g, (hex) => hex.toLowerCase())),
];
const createTestRedactor = () => modules.createRedactor({ KEY: SECRET, OTHER: 'aaaaaaaa' });

/** Returns one of 8^5 keys that are all equal after redaction: each digit is an encoding of the secret. */
const createCollidingKey = (number: number): string =>
  listOf(5, (digit) => SECRET_ENCODINGS[(number >> (3 * digit)) & 7] as string).join('-');

/** Caller-supplied values that are expensive to compare, count and copy. */
const VALUE_GENERATORS: { [title: string]: (n: number) => Json } = {
  'keys that are equal after redaction': (n) => objectOf(n, (index) => [createCollidingKey(index), index]),
  'keys that look like numbered keys': (n) => objectOf(n, (index) => [`${SECRET} (${index})`, index]),
  'a string full of secrets': (n) => SECRET_ENCODINGS.join(' ').repeat(n),
  'a string that repeats a part of a secret': (n) => 'aaaaaaa '.repeat(n),
  'a string of a single letter': (n) => 'a'.repeat(n * 10),
  'many items': (n) => listOf(n, (index) => ({ id: index, files: [], text: '"' })),
  'deeply nested values': (n) => nestedValue(Math.min(n, 900)),
  'many keys': (n) => objectOf(n, (index) => [`key${index}`, { type: 'file', name: 'x' }]),
};

/** Work on a caller's value, such as the execution of a block. */
const PASSES: { [title: string]: (value: Json) => unknown } = {
  'the redaction of a value': (value) => createTestRedactor().redactJson(value),
  'the redaction of the JSON of a value': (value) => createTestRedactor().redactText(JSON.stringify(value)),
  'the redaction of a stream with the JSON of a value': (value) => {
    const stream = createTestRedactor().createStream();
    const text = JSON.stringify(value);
    for (let index = 0; index < text.length; index += 3) stream.push(text.slice(index, index + 3));
    return stream.end();
  },
  'the copy of a value': (value) => modules.jsonCopy(value, 'The value'),
  'the search for files': (value) => {
    const knownIds = new Set(modules.filesIn(value).map(({ id }) => id));
    return modules.withContents(value, ({ id }) => (knownIds.has(id) ? '' : undefined));
  },
  'the count of values in a body': (value) => modules.requireValueLimit(value, { values: Infinity }),
  'the response to an unauthenticated caller': (value) => modules.withoutStdout({ results: [value] }),
  'the output of a start block': (value) =>
    modules.startOutput(modules.blockOf({ type: 'start_trigger', trigger: true }), value),
  'the mocks of a run': (value) => {
    const parsedMocks = modules.parseMocks({ blocks: { a: { value } } });
    return parsedMocks.unusedNames([{ id: 'a', name: 'a' }]);
  },
  'the input of a pause': (value) =>
    modules.resumeOutput({
      block: modules.blockOf({ type: 'human_in_the_loop' }),
      input: { value },
      pausedOutput: { response: { data: { inputFormat: [] } } },
      pausedMs: 0,
      nowMs: 0,
    } as never),
  'the data of a response': (value) => executeResponse({ dataMode: 'json', data: value }),
  'the builder data of a response': (value) =>
    executeResponse({ builderData: [{ name: 'a', type: 'object', value }] }),
};

function executeResponse(params: JsonObject): unknown {
  const executor = modules.builtInExecutors.find(({ types }) => types.includes('response'))!;
  return executor.execute(modules.contextOf({ type: 'response', params }));
}

describe.each(Object.entries(PASSES))('%s takes time at most proportional to its size', (_, pass) => {
  it.each(Object.entries(VALUE_GENERATORS))('with %s', async (_title, make) => {
    await expectLinear({ size: 200, make, run: pass });
  });
});

it('the redaction of many equal keys takes time at most proportional to their number', async () => {
  const pass = (value: Json): unknown => createTestRedactor().redactJson(value);
  await expectLinear({
    size: 1500,
    make: VALUE_GENERATORS['keys that are equal after redaction']!,
    run: pass,
  });
});

const createNamedBlocks = (n: number) =>
  listOf(n, (index) => ({ blockId: `block_${index}`, name: `Block ${index}` }));

/** A store that is never read: no selector here refers to the workflow itself. */
const STORE = { store: {} } as never;
const WORKFLOW = { id: 'w' } as never;
const OPERATION = { params: z.object({}), query: z.object({}) } as never;

/** Work on input with many elements. */
const MEASURED_WORK: { [title: string]: MeasuredWork<unknown> } = {
  'selectors of many blocks, by id, by name and by prefix': measuredWorkOf({
    make: (n) => listOf(n, (index) => [`block_${index}.a`, `Block ${index}.a`, `block_${index}_a`]).flat(),
    run: (selectors) =>
      modules.resolveSelectors(STORE, selectors, {
        workflow: WORKFLOW,
        blocks: createNamedBlocks(selectors.length / 3),
      }),
  }),
  'a selector of many underscores': measuredWorkOf({
    make: (n) => `block_0_${'_'.repeat(n)}`,
    run: (selector) =>
      modules.resolveSelectors(STORE, [selector], { workflow: WORKFLOW, blocks: createNamedBlocks(5) }),
  }),
  'the position of a cursor': measuredWorkOf({
    make: (n) => modules.cursorCodec(z.array(z.string())).encode(listOf(n, String), { sort: 'name' }) ?? '',
    run: (cursor) => modules.cursorCodec(z.array(z.string())).decode(cursor, { sort: 'name' }),
  }),
  'keys of a query': measuredWorkOf({
    make: (n) => `https://example.com/?${listOf(n, (index) => `k${index}=1`).join('&')}`,
    run: (url) => modules.readRequest(OPERATION, new Request(url), UNLIMITED),
  }),
  'assignments of many variables': measuredWorkOf({
    make: (n) => listOf(n, (index) => ({ variableName: `v${index}`, type: 'string', value: 'x' })),
    run: (assignments) => executeVariables(assignments, assignments.length),
  }),
  'declared fields of a start block and their values': measuredWorkOf({
    make: (n) => objectOf(n, (index) => [`f${index}`, index]),
    run: (input) =>
      modules.startOutput(
        modules.blockOf({
          type: 'api_trigger',
          trigger: true,
          params: { inputFormat: Object.keys(input).map((name) => ({ name, type: 'number' })) },
        }),
        input,
      ),
  }),
  'containers of a draft': measuredWorkOf({
    make: (n) =>
      modules.graphOf({ blocks: objectOf(n, containerEntry), edges: [] } as never, { variables: {} } as never)
        .graph,
    run: (graph) => {
      modules.graphOf({ blocks: graph.blocks, edges: [] } as never, graph);
      modules.hashGraph(graph);
      modules.idsOf(graph);
    },
  }),
  'warnings about a draft': measuredWorkOf({
    make: (n) => {
      const edges = listOf(n, (index) => ({
        id: `e${index}`,
        source: `b${index}`,
        target: `b${index}`,
        sourceHandle: 'x',
      }));
      return modules.graphOf(
        { blocks: objectOf(n, containerEntry), edges } as never,
        { variables: {} } as never,
      ).graph;
    },
    run: (graph) => {
      const diagnostics = graph.edges.map((_, index) => ({
        code: 'PORT_UNKNOWN',
        severity: 'warning' as const,
        path: ['edges', index, 'sourceHandle'],
        blockId: `b${index}`,
        message: '',
        hint: '',
      }));
      modules.createLintReport(graph, {
        diagnostics,
        emptyFields: [],
        missingResources: [],
        context: EMPTY_CONTEXT,
      });
    },
  }),
  'ports of a draft with unknown targets': measuredWorkOf({
    make: (n) => {
      const conditions = listOf(n, (index) => ({ id: `r${index}`, title: 'if', value: 'true' }));
      const edges = listOf(n, (index) => ({ source: 'c', target: 'x', sourceHandle: `condition-r${index}` }));
      const blocks = {
        c: blockWithField('condition', 'conditions', conditions),
        x: blockWithField('function', 'code', ''),
      };
      return { blocks, edges, loops: {}, parallels: {}, variables: {} };
    },
    run: (graph) =>
      modules.createLintReport(graph, {
        diagnostics: [],
        emptyFields: [],
        missingResources: [],
        context: EMPTY_CONTEXT,
      }),
  }),
  'tools and placeholders of a draft': measuredWorkOf({
    make: (n) => {
      const tools = listOf(n, (index) => ({ type: `t${index}`, params: { text: `{{N${index}}}` } }));
      const blocks = { a: blockWithField('agent', 'tools', JSON.stringify(tools)) };
      return { blocks, edges: [], loops: {}, parallels: {}, variables: {} };
    },
    run: (graph) =>
      modules.findUnresolvedResources(graph, {
        db: undefined as never,
        workspaceId: 'w',
        context: { ...EMPTY_CONTEXT, tools: [{ id: 'known' }], environmentNames: new Set<string>() },
      }),
  }),
  'bindings of a draft': measuredWorkOf({
    make: (n) => {
      const joinedIds = listOf(n, (index) => `id${index}`).join(',');
      const blocks = {
        a: blockWithField('table', 'tableId', joinedIds),
        b: blockWithField('x', 'credential', joinedIds),
      };
      return { blocks, edges: [], loops: {}, parallels: {}, variables: {} };
    },
    run: (graph) => modules.removedBindings(graph, { ...graph, blocks: {} }),
  }),
};

function measuredWorkOf<T>(work: Omit<MeasuredWork<T>, 'size'>): MeasuredWork<unknown> {
  return { ...work, size: 200 } as unknown as MeasuredWork<unknown>;
}

/** The context of lint reports that know no fields, names, sandboxes or tools. */
const EMPTY_CONTEXT = {
  requiredFields: undefined,
  environmentNames: undefined,
  hasSandboxes: false,
  tools: undefined,
};

function blockWithField(type: string, name: string, value: Json): JsonObject {
  return { type, name: type, subBlocks: { [name]: { id: name, type: 'short-input', value } } };
}

function containerEntry(index: number): [string, Json] {
  const data = { loopType: 'for', count: 1, ...(index > 0 && { parentId: `b${index >> 1}` }) };
  return [
    `b${index}`,
    { type: index % 2 === 0 ? 'loop' : 'parallel', name: `B${index}`, data, subBlocks: {} },
  ];
}

function executeVariables(variables: Json, count: number): unknown {
  const executor = modules.builtInExecutors.find(({ types }) => types.includes('variables'))!;
  const knownVariables = listOf(count, (index) => ({
    id: `id${index}`,
    name: `v${index}`,
    type: 'string' as const,
    value: '',
  }));
  return executor.execute(
    modules.contextOf({ type: 'variables', params: { variables }, variables: knownVariables }),
  );
}

describe('work on input with many elements takes time at most proportional to its length', () => {
  it.each(Object.entries(MEASURED_WORK))('%s', (_, work) => expectLinear(work));
});

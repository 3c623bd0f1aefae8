import type { Json, JsonObject } from '../../packages/core/src/json.ts';
import { code, condition, start, workflowFile } from '../support/workflow-file.ts';
import type { BlockSettings, WorkflowSettings } from '../support/workflow-file.ts';

/** A kind of workflow, of any size `n`. */
export interface Shape {
  title: string;
  /** The `n` at which searches with a limit have reached this limit. */
  size?: number;
  /** Returns the workflow with `n` parts of one kind. */
  make(n: number): WorkflowSettings;
}

type Blocks = { [id: string]: BlockSettings };

const id = (index: number): string => `b${String(index).padStart(6, '0')}`;

function list<T>(n: number, make: (index: number) => T): T[] {
  return Array.from({ length: n }, (_, index) => make(index));
}

function blocksOf(n: number, make: (index: number) => BlockSettings): Blocks {
  return Object.fromEntries(list(n, (index) => [id(index), make(index)]));
}

const chain = (n: number): string[] => [
  's > b000000',
  ...list(n - 1, (index) => `${id(index)} > ${id(index + 1)}`),
];

/** Returns a chain of three blocks: a start, a block named "Fetch", and a block with these fields. */
function flowWith(fields: JsonObject, properties: BlockSettings = {}): WorkflowSettings {
  return {
    blocks: {
      s: start(),
      f: code('return 1', { name: 'Fetch' }),
      r: { type: 'response', fields, ...properties },
    },
    edges: ['s > f', 'f > r'],
  };
}

const repeat = (n: number, text: (index: number) => string): string => list(n, text).join(' ');

const REFERENCES: readonly Shape[] = [
  {
    title: 'unknown names similar to one of many blocks',
    size: 1000,
    make: (n) => ({
      blocks: {
        s: start(),
        ...blocksOf(n, (index) => code('return 1', { name: `enrich the company ${index}` })),
        r: {
          type: 'response',
          fields: { data: repeat(n, (index) => `<enrichthecompanx${index}.result>`) },
        },
      },
      edges: chain(n),
    }),
  },
  {
    title: 'many unknown names in one string',
    make: (n) => flowWith({ data: repeat(n, (index) => `<nosuch${index}.x>`) }),
  },
  {
    title: 'unknown names in comments',
    make: (n) =>
      flowWith(
        { code: repeat(n, (index) => `// <fetchx${index}.y>\n`), language: 'javascript' },
        { type: 'function' },
      ),
  },
  {
    title: 'outputs that a block does not declare',
    size: 1000,
    make: (n) => ({
      blocks: {
        s: start(),
        a: {
          type: 'agent',
          name: 'Writer',
          fields: {
            responseFormat: {
              properties: Object.fromEntries(list(n, (index) => [`headline${index}`, { type: 'string' }])),
            },
          },
        },
        r: { type: 'response', fields: { data: repeat(n, (index) => `<writer.headlinx${index}>`) } },
      },
      edges: ['s > a', 'a > r'],
    }),
  },
  {
    title: 'unknown variables among many',
    size: 1000,
    make: (n) => ({
      ...flowWith({ data: repeat(n, (index) => `<variable.customernamx${index}>`) }),
      state: {
        variables: Object.fromEntries(
          list(n, (index) => [
            `v${index}`,
            { id: `v${index}`, name: `customername${index}`, type: 'string', value: '' },
          ]),
        ),
      },
    }),
  },
  {
    title: 'references to blocks that run later',
    size: 1500,
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, () => code(`return <${id(n - 1)}.result>`)) },
      edges: chain(n),
    }),
  },
  {
    title: 'known references in one string',
    make: (n) => flowWith({ data: repeat(n, () => '<fetch.result.a.b[0]>') }),
  },
  {
    title: 'placeholders in one string',
    make: (n) => flowWith({ data: repeat(n, (index) => `{{NAME_${index}}}`) }),
  },
  {
    title: 'references in rows of a condition',
    make: (n) => ({
      blocks: {
        s: start(),
        f: code('return 1', { name: 'Fetch' }),
        c: condition('c', ...list(n, (index) => `<fetch.result> === ${index} && "<nosuch${index}.x>"`)),
      },
      edges: ['s > f', 'f > c'],
    }),
  },
];

const NAMES: readonly Shape[] = [
  {
    title: 'many blocks with the same name',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, () => code('return 1', { name: 'Same' })) },
      edges: chain(n),
    }),
  },
  {
    title: 'long names',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, () => code('return <nosuch.x>', { name: 'long '.repeat(190) })) },
      edges: chain(n),
    }),
  },
  {
    title: 'a long id in the path of many diagnostics',
    make: (n) => ({
      blocks: {
        s: start(),
        ['x'.repeat(n)]: { type: 'response', fields: { data: repeat(n, (index) => `<no${index}.x>`) } },
      },
      edges: [`s > ${'x'.repeat(n)}`],
    }),
  },
  {
    title: 'a long field in the path of many diagnostics',
    make: (n) => flowWith({ ['x'.repeat(n)]: repeat(n, (index) => `<no${index}.x>`) }),
  },
  {
    title: 'unknown fields of blocks',
    make: (n) => flowWith(Object.fromEntries(list(n, (index) => [`dataMod${index}`, 1]))),
  },
  {
    title: 'types without an executor',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, (index) => ({ type: `functio${index}` })) },
      edges: chain(n),
    }),
  },
  {
    title: 'variables with the same name',
    make: (n) => ({
      ...flowWith({ data: '' }),
      state: {
        variables: list(n, (index) => ({ id: `v${index}`, name: 'same', type: 'nosuch', value: index })),
      },
    }),
  },
  {
    title: 'fields of an input format',
    make: (n) => ({
      blocks: { s: start({ fields: { inputFormat: list(n, () => ({ name: 'error', type: 'string' })) } }) },
    }),
  },
];

const EDGES: readonly Shape[] = [
  {
    title: 'one block with many successors',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, () => code('return 1')) },
      edges: list(n, (index) => `s > ${id(index)}`),
    }),
  },
  {
    title: 'one block with many predecessors',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, () => code('return 1')), z: code('return 1') },
      edges: list(n, (index) => [`s > ${id(index)}`, `${id(index)} > z`]).flat(),
    }),
  },
  {
    title: 'many copies of an edge',
    make: (n) => ({ blocks: { s: start(), a: code('return 1') }, edges: list(n, () => 's > a') }),
  },
  {
    title: 'edges to unknown blocks, from a block to itself and from unknown ports',
    make: (n) => ({
      blocks: { s: start(), a: code('return 1') },
      edges: list(n, (index) => [`s > gone${index}`, 'a > a', `s:port${index} > a`]).flat(),
    }),
  },
  {
    title: 'a condition with many rows and edges',
    make: (n) => ({
      blocks: { s: start(), c: condition('c', ...list(n, (index) => `${index} > 1`)), a: code('return 1') },
      edges: ['s > c', ...list(n, (index) => `c:condition-c-${index} > a`)],
    }),
  },
  {
    title: 'a router with many routes and edges',
    make: (n) => ({
      blocks: {
        s: start(),
        r: {
          type: 'router_v2',
          fields: { routes: list(n, (index) => ({ id: `r${index}`, title: 'x', value: 'y' })) },
        },
        a: code('return 1'),
      },
      edges: ['s > r', ...list(n, (index) => `r:router-r${index} > a`)],
    }),
  },
  {
    title: 'one long cycle',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, () => code('')) },
      edges: [...chain(n), `${id(n - 1)} > ${id(0)}`],
    }),
  },
  {
    title: 'many small cycles along one path',
    make: (n) => ({
      blocks: {
        s: start(),
        ...blocksOf(n, () => code('')),
        ...Object.fromEntries(list(n, (index) => [`z${index}`, code('')])),
      },
      edges: [
        ...chain(n),
        ...list(n, (index) => [`${id(index)} > z${index}`, `z${index} > ${id(index)}`]).flat(),
      ],
    }),
  },
  {
    title: 'many small cycles after one block',
    make: (n) => ({
      blocks: {
        s: start(),
        a: code(''),
        ...blocksOf(n, () => code('')),
        ...Object.fromEntries(list(n, (index) => [`z${index}`, code('')])),
      },
      edges: [
        's > a',
        `${id(n - 1)} > a`,
        ...list(n, (index) => [
          `a > ${id(index)}`,
          `${id(index)} > z${index}`,
          `z${index} > ${id(index)}`,
        ]).flat(),
      ],
    }),
  },
  {
    title: 'cycles that all share a block',
    make: (n) => ({
      blocks: { s: start(), z: code(''), ...blocksOf(n, () => code('')) },
      edges: ['s > z', ...list(n, (index) => [`z > ${id(index)}`, `${id(index)} > z`]).flat()],
    }),
  },
];

const loopOf = (properties: BlockSettings = {}): BlockSettings => ({
  type: 'loop',
  data: { loopType: 'for', count: 2 },
  ...properties,
});

const CONTAINERS: readonly Shape[] = [
  {
    title: 'many empty containers',
    make: (n) => ({ blocks: { s: start(), ...blocksOf(n, () => loopOf()) }, edges: chain(n) }),
  },
  {
    title: 'many containers, each with a block',
    make: (n) => ({
      blocks: {
        s: start(),
        ...blocksOf(n, () => loopOf()),
        ...Object.fromEntries(
          list(n, (index) => [`i${index}`, code('return <loop.index>', { parentId: id(index) })]),
        ),
      },
      edges: [...chain(n), ...list(n, (index) => `${id(index)}:loop-start-source > i${index}`)],
    }),
  },
  {
    title: 'containers nested more deeply than allowed',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, (index) => loopOf(index > 0 ? { parentId: id(index - 1) } : {})) },
      edges: ['s > b000000', ...list(n - 1, (index) => `${id(index)}:loop-start-source > ${id(index + 1)}`)],
    }),
  },
  {
    title: 'containers that form a cycle',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, (index) => loopOf({ parentId: id((index + 1) % n) })) },
      edges: ['s > b000000'],
    }),
  },
  {
    title: 'a stored map that lists nested children in the outermost container',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, (index) => loopOf(index > 0 ? { parentId: id(index - 1) } : {})) },
      edges: ['s > b000000'],
      state: { loops: { [id(0)]: { id: id(0), nodes: list(n - 1, (index) => id(index + 1)) } } },
    }),
  },
  {
    title: 'a stored map for each container, each with the same nodes',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, () => loopOf()), inner: code('') },
      edges: chain(n),
      state: {
        loops: Object.fromEntries(
          list(n, (index) => [id(index), { id: id(index), nodes: ['inner', id(index + 1)] }]),
        ),
      },
    }),
  },
  {
    title: 'a collection in a JSON string, and a count',
    make: (n) => ({
      blocks: {
        s: start(),
        l: loopOf({
          data: {
            loopType: 'forEach',
            collection: JSON.stringify(list(n, (index) => `{{N${index}}} <nosuch.x${index}>`)),
          },
        }),
        a: code('', { parentId: 'l' }),
        p: { type: 'parallel', data: { parallelType: 'count', count: `1 + ${repeat(n, () => '+ 1')}` } },
        b: code('', { parentId: 'p' }),
      },
      edges: ['s > l', 'l:loop-start-source > a', 'l > p', 'p:parallel-start-source > b'],
    }),
  },
];

const VALUES: readonly Shape[] = [
  {
    title: 'a wide value',
    make: (n) => flowWith({ data: list(n, (index) => ({ [`k${index}`]: `<fetch.result.${index}>` })) }),
  },
  {
    title: 'values nested too deeply',
    make: (n) => {
      let value: Json = list(n, () => [[]]);
      for (let depth = 0; depth < 90; depth++) value = [value];
      return flowWith({ data: value });
    },
  },
  {
    title: 'a long string',
    make: (n) => flowWith({ data: 'x '.repeat(n * 10), builderData: '{'.repeat(n * 10) }),
  },
  {
    title: 'invalid literals',
    make: (n) => ({
      blocks: {
        s: start(),
        ...blocksOf(n, () => ({
          type: 'api',
          fields: { method: 'FETCH', retires: 1, url: 'x', timeout: 'soon' },
        })),
      },
      edges: chain(n),
    }),
  },
  {
    title: 'code that does not parse',
    make: (n) => ({ blocks: { s: start(), ...blocksOf(n, () => code('return (')) }, edges: chain(n) }),
  },
  {
    title: 'long code',
    make: (n) =>
      flowWith({ code: repeat(n, (index) => `let v${index} = { a: [1, "x"] };\n`) }, { type: 'function' }),
  },
  {
    title: 'many declarations in one piece of code',
    size: 10_000,
    make: (n) =>
      flowWith({ code: `let ${list(n, (index) => `v${index}`).join(', ')};` }, { type: 'function' }),
  },
];

/** All shapes of workflows. */
export const SHAPES: readonly Shape[] = [...REFERENCES, ...NAMES, ...EDGES, ...CONTAINERS, ...VALUES];

/** Returns the workflow file as JSON. */
export function workflowFileText(workflow: WorkflowSettings): string {
  return JSON.stringify(workflowFile(workflow));
}

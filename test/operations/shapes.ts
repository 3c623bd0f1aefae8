import type { Json, JsonObject } from '../../packages/core/src/json.ts';
import { code, condition, start, workflowFile } from '../support/workflow-file.ts';
import type { DrawnBlock, DrawnWorkflow } from '../support/workflow-file.ts';

/** A workflow that grows in one way. */
export interface Shape {
  title: string;
  /** The `n` at which searches with a limit have reached this limit. */
  size?: number;
  /** Returns the workflow with `n` parts of one kind. */
  draw(n: number): DrawnWorkflow;
}

type Blocks = { [id: string]: DrawnBlock };

const id = (index: number): string => `b${String(index).padStart(6, '0')}`;

function list<T>(n: number, make: (index: number) => T): T[] {
  return Array.from({ length: n }, (_, index) => make(index));
}

function blocks(n: number, make: (index: number) => DrawnBlock): Blocks {
  return Object.fromEntries(list(n, (index) => [id(index), make(index)]));
}

const chain = (n: number): string[] => [
  's > b000000',
  ...list(n - 1, (index) => `${id(index)} > ${id(index + 1)}`),
];

/** Returns a block with these fields after a start, and a block named "Fetch" between them. */
function reader(fields: JsonObject, properties: DrawnBlock = {}): DrawnWorkflow {
  return {
    blocks: {
      s: start(),
      f: code('return 1', { name: 'Fetch' }),
      r: { type: 'response', fields, ...properties },
    },
    edges: ['s > f', 'f > r'],
  };
}

const repeated = (n: number, text: (index: number) => string): string => list(n, text).join(' ');

const REFERENCES: readonly Shape[] = [
  {
    title: 'unknown names similar to one of many blocks',
    size: 1000,
    draw: (n) => ({
      blocks: {
        s: start(),
        ...blocks(n, (index) => code('return 1', { name: `enrich the company ${index}` })),
        r: {
          type: 'response',
          fields: { data: repeated(n, (index) => `<enrichthecompanx${index}.result>`) },
        },
      },
      edges: chain(n),
    }),
  },
  {
    title: 'many unknown names in one string',
    draw: (n) => reader({ data: repeated(n, (index) => `<nosuch${index}.x>`) }),
  },
  {
    title: 'unknown names in comments',
    draw: (n) =>
      reader(
        { code: repeated(n, (index) => `// <fetchx${index}.y>\n`), language: 'javascript' },
        { type: 'function' },
      ),
  },
  {
    title: 'outputs that a block does not declare',
    size: 1000,
    draw: (n) => ({
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
        r: { type: 'response', fields: { data: repeated(n, (index) => `<writer.headlinx${index}>`) } },
      },
      edges: ['s > a', 'a > r'],
    }),
  },
  {
    title: 'unknown variables among many',
    size: 1000,
    draw: (n) => ({
      ...reader({ data: repeated(n, (index) => `<variable.customernamx${index}>`) }),
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
    draw: (n) => ({
      blocks: { s: start(), ...blocks(n, () => code(`return <${id(n - 1)}.result>`)) },
      edges: chain(n),
    }),
  },
  {
    title: 'known references in one string',
    draw: (n) => reader({ data: repeated(n, () => '<fetch.result.a.b[0]>') }),
  },
  {
    title: 'placeholders in one string',
    draw: (n) => reader({ data: repeated(n, (index) => `{{NAME_${index}}}`) }),
  },
  {
    title: 'references in rows of a condition',
    draw: (n) => ({
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
    draw: (n) => ({
      blocks: { s: start(), ...blocks(n, () => code('return 1', { name: 'Same' })) },
      edges: chain(n),
    }),
  },
  {
    title: 'long names',
    draw: (n) => ({
      blocks: { s: start(), ...blocks(n, () => code('return <nosuch.x>', { name: 'long '.repeat(190) })) },
      edges: chain(n),
    }),
  },
  {
    title: 'a long id in the path of many diagnostics',
    draw: (n) => ({
      blocks: {
        s: start(),
        ['x'.repeat(n)]: { type: 'response', fields: { data: repeated(n, (index) => `<no${index}.x>`) } },
      },
      edges: [`s > ${'x'.repeat(n)}`],
    }),
  },
  {
    title: 'a long field in the path of many diagnostics',
    draw: (n) => reader({ ['x'.repeat(n)]: repeated(n, (index) => `<no${index}.x>`) }),
  },
  {
    title: 'unknown fields of blocks',
    draw: (n) => reader(Object.fromEntries(list(n, (index) => [`dataMod${index}`, 1]))),
  },
  {
    title: 'types without an executor',
    draw: (n) => ({
      blocks: { s: start(), ...blocks(n, (index) => ({ type: `functio${index}` })) },
      edges: chain(n),
    }),
  },
  {
    title: 'variables with the same name',
    draw: (n) => ({
      ...reader({ data: '' }),
      state: {
        variables: list(n, (index) => ({ id: `v${index}`, name: 'same', type: 'nosuch', value: index })),
      },
    }),
  },
  {
    title: 'fields of an input format',
    draw: (n) => ({
      blocks: { s: start({ fields: { inputFormat: list(n, () => ({ name: 'error', type: 'string' })) } }) },
    }),
  },
];

const EDGES: readonly Shape[] = [
  {
    title: 'one block with many successors',
    draw: (n) => ({
      blocks: { s: start(), ...blocks(n, () => code('return 1')) },
      edges: list(n, (index) => `s > ${id(index)}`),
    }),
  },
  {
    title: 'one block with many predecessors',
    draw: (n) => ({
      blocks: { s: start(), ...blocks(n, () => code('return 1')), z: code('return 1') },
      edges: list(n, (index) => [`s > ${id(index)}`, `${id(index)} > z`]).flat(),
    }),
  },
  {
    title: 'many copies of an edge',
    draw: (n) => ({ blocks: { s: start(), a: code('return 1') }, edges: list(n, () => 's > a') }),
  },
  {
    title: 'edges to unknown blocks, from a block to itself and from unknown ports',
    draw: (n) => ({
      blocks: { s: start(), a: code('return 1') },
      edges: list(n, (index) => [`s > gone${index}`, 'a > a', `s:port${index} > a`]).flat(),
    }),
  },
  {
    title: 'a condition with many rows and edges',
    draw: (n) => ({
      blocks: { s: start(), c: condition('c', ...list(n, (index) => `${index} > 1`)), a: code('return 1') },
      edges: ['s > c', ...list(n, (index) => `c:condition-c-${index} > a`)],
    }),
  },
  {
    title: 'a router with many routes and edges',
    draw: (n) => ({
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
    draw: (n) => ({
      blocks: { s: start(), ...blocks(n, () => code('')) },
      edges: [...chain(n), `${id(n - 1)} > ${id(0)}`],
    }),
  },
  {
    title: 'many small cycles along one path',
    draw: (n) => ({
      blocks: {
        s: start(),
        ...blocks(n, () => code('')),
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
    draw: (n) => ({
      blocks: {
        s: start(),
        a: code(''),
        ...blocks(n, () => code('')),
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
    draw: (n) => ({
      blocks: { s: start(), z: code(''), ...blocks(n, () => code('')) },
      edges: ['s > z', ...list(n, (index) => [`z > ${id(index)}`, `${id(index)} > z`]).flat()],
    }),
  },
];

const loopOf = (properties: DrawnBlock = {}): DrawnBlock => ({
  type: 'loop',
  data: { loopType: 'for', count: 2 },
  ...properties,
});

const CONTAINERS: readonly Shape[] = [
  {
    title: 'many empty containers',
    draw: (n) => ({ blocks: { s: start(), ...blocks(n, () => loopOf()) }, edges: chain(n) }),
  },
  {
    title: 'many containers, each with a block',
    draw: (n) => ({
      blocks: {
        s: start(),
        ...blocks(n, () => loopOf()),
        ...Object.fromEntries(
          list(n, (index) => [`i${index}`, code('return <loop.index>', { parentId: id(index) })]),
        ),
      },
      edges: [...chain(n), ...list(n, (index) => `${id(index)}:loop-start-source > i${index}`)],
    }),
  },
  {
    title: 'containers nested more deeply than allowed',
    draw: (n) => ({
      blocks: { s: start(), ...blocks(n, (index) => loopOf(index > 0 ? { parentId: id(index - 1) } : {})) },
      edges: ['s > b000000', ...list(n - 1, (index) => `${id(index)}:loop-start-source > ${id(index + 1)}`)],
    }),
  },
  {
    title: 'containers that form a cycle',
    draw: (n) => ({
      blocks: { s: start(), ...blocks(n, (index) => loopOf({ parentId: id((index + 1) % n) })) },
      edges: ['s > b000000'],
    }),
  },
  {
    title: 'a stored map that lists nested children in the outermost container',
    draw: (n) => ({
      blocks: { s: start(), ...blocks(n, (index) => loopOf(index > 0 ? { parentId: id(index - 1) } : {})) },
      edges: ['s > b000000'],
      state: { loops: { [id(0)]: { id: id(0), nodes: list(n - 1, (index) => id(index + 1)) } } },
    }),
  },
  {
    title: 'a stored map for each container, each with the same nodes',
    draw: (n) => ({
      blocks: { s: start(), ...blocks(n, () => loopOf()), inner: code('') },
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
    draw: (n) => ({
      blocks: {
        s: start(),
        l: loopOf({
          data: {
            loopType: 'forEach',
            collection: JSON.stringify(list(n, (index) => `{{N${index}}} <nosuch.x${index}>`)),
          },
        }),
        a: code('', { parentId: 'l' }),
        p: { type: 'parallel', data: { parallelType: 'count', count: `1 + ${repeated(n, () => '+ 1')}` } },
        b: code('', { parentId: 'p' }),
      },
      edges: ['s > l', 'l:loop-start-source > a', 'l > p', 'p:parallel-start-source > b'],
    }),
  },
];

const VALUES: readonly Shape[] = [
  {
    title: 'a wide value',
    draw: (n) => reader({ data: list(n, (index) => ({ [`k${index}`]: `<fetch.result.${index}>` })) }),
  },
  {
    title: 'values nested too deeply',
    draw: (n) => {
      let value: Json = list(n, () => [[]]);
      for (let depth = 0; depth < 90; depth++) value = [value];
      return reader({ data: value });
    },
  },
  {
    title: 'a long string',
    draw: (n) => reader({ data: 'x '.repeat(n * 10), builderData: '{'.repeat(n * 10) }),
  },
  {
    title: 'invalid literals',
    draw: (n) => ({
      blocks: {
        s: start(),
        ...blocks(n, () => ({
          type: 'api',
          fields: { method: 'FETCH', retires: 1, url: 'x', timeout: 'soon' },
        })),
      },
      edges: chain(n),
    }),
  },
  {
    title: 'code that does not parse',
    draw: (n) => ({ blocks: { s: start(), ...blocks(n, () => code('return (')) }, edges: chain(n) }),
  },
  {
    title: 'long code',
    draw: (n) =>
      reader({ code: repeated(n, (index) => `let v${index} = { a: [1, "x"] };\n`) }, { type: 'function' }),
  },
  {
    title: 'many declarations in one piece of code',
    size: 10_000,
    draw: (n) => reader({ code: `let ${list(n, (index) => `v${index}`).join(', ')};` }, { type: 'function' }),
  },
];

/** All shapes of workflows. */
export const SHAPES: readonly Shape[] = [...REFERENCES, ...NAMES, ...EDGES, ...CONTAINERS, ...VALUES];

/** Returns the workflow file as JSON. */
export function textOf(drawn: DrawnWorkflow): string {
  return JSON.stringify(workflowFile(drawn));
}

import type { Json } from '../../packages/core/src/json.ts';
import { code, condition, start, workflowFile } from '../support/workflow-file.ts';
import type { BlockSettings, WorkflowSettings } from '../support/workflow-file.ts';
import { blocksOf, chainEdges, idOf, listOf, repeat, workflowWith } from './large-workflow.ts';
import type { Shape } from './large-workflow.ts';

const REFERENCE_SHAPES: readonly Shape[] = [
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
      edges: chainEdges(n),
    }),
  },
  {
    title: 'many unknown names in one string',
    make: (n) => workflowWith({ data: repeat(n, (index) => `<nosuch${index}.x>`) }),
  },
  {
    title: 'unknown names in comments',
    make: (n) =>
      workflowWith(
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
              properties: Object.fromEntries(listOf(n, (index) => [`headline${index}`, { type: 'string' }])),
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
      ...workflowWith({ data: repeat(n, (index) => `<variable.customernamx${index}>`) }),
      state: {
        variables: Object.fromEntries(
          listOf(n, (index) => [
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
      blocks: { s: start(), ...blocksOf(n, () => code(`return <${idOf(n - 1)}.result>`)) },
      edges: chainEdges(n),
    }),
  },
  {
    title: 'known references in one string',
    make: (n) => workflowWith({ data: repeat(n, () => '<fetch.result.a.b[0]>') }),
  },
  {
    title: 'placeholders in one string',
    make: (n) => workflowWith({ data: repeat(n, (index) => `{{NAME_${index}}}`) }),
  },
  {
    title: 'references in rows of a condition',
    make: (n) => ({
      blocks: {
        s: start(),
        f: code('return 1', { name: 'Fetch' }),
        c: condition('c', ...listOf(n, (index) => `<fetch.result> === ${index} && "<nosuch${index}.x>"`)),
      },
      edges: ['s > f', 'f > c'],
    }),
  },
];

const NAME_SHAPES: readonly Shape[] = [
  {
    title: 'many blocks with the same name',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, () => code('return 1', { name: 'Same' })) },
      edges: chainEdges(n),
    }),
  },
  {
    title: 'long names',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, () => code('return <nosuch.x>', { name: 'long '.repeat(190) })) },
      edges: chainEdges(n),
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
    make: (n) => workflowWith({ ['x'.repeat(n)]: repeat(n, (index) => `<no${index}.x>`) }),
  },
  {
    title: 'unknown fields of blocks',
    make: (n) => workflowWith(Object.fromEntries(listOf(n, (index) => [`dataMod${index}`, 1]))),
  },
  {
    title: 'types without an executor',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, (index) => ({ type: `functio${index}` })) },
      edges: chainEdges(n),
    }),
  },
  {
    title: 'variables with the same name',
    make: (n) => ({
      ...workflowWith({ data: '' }),
      state: {
        variables: listOf(n, (index) => ({ id: `v${index}`, name: 'same', type: 'nosuch', value: index })),
      },
    }),
  },
  {
    title: 'fields of an input format',
    make: (n) => ({
      blocks: { s: start({ fields: { inputFormat: listOf(n, () => ({ name: 'error', type: 'string' })) } }) },
    }),
  },
];

const EDGE_SHAPES: readonly Shape[] = [
  {
    title: 'one block with many successors',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, () => code('return 1')) },
      edges: listOf(n, (index) => `s > ${idOf(index)}`),
    }),
  },
  {
    title: 'one block with many predecessors',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, () => code('return 1')), z: code('return 1') },
      edges: listOf(n, (index) => [`s > ${idOf(index)}`, `${idOf(index)} > z`]).flat(),
    }),
  },
  {
    title: 'many copies of an edge',
    make: (n) => ({ blocks: { s: start(), a: code('return 1') }, edges: listOf(n, () => 's > a') }),
  },
  {
    title: 'edges to unknown blocks, from a block to itself and from unknown ports',
    make: (n) => ({
      blocks: { s: start(), a: code('return 1') },
      edges: listOf(n, (index) => [`s > gone${index}`, 'a > a', `s:port${index} > a`]).flat(),
    }),
  },
  {
    title: 'a condition with many rows and edges',
    make: (n) => ({
      blocks: { s: start(), c: condition('c', ...listOf(n, (index) => `${index} > 1`)), a: code('return 1') },
      edges: ['s > c', ...listOf(n, (index) => `c:condition-c-${index} > a`)],
    }),
  },
  {
    title: 'a router with many routes and edges',
    make: (n) => ({
      blocks: {
        s: start(),
        r: {
          type: 'router_v2',
          fields: { routes: listOf(n, (index) => ({ id: `r${index}`, title: 'x', value: 'y' })) },
        },
        a: code('return 1'),
      },
      edges: ['s > r', ...listOf(n, (index) => `r:router-r${index} > a`)],
    }),
  },
  {
    title: 'one long cycle',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, () => code('')) },
      edges: [...chainEdges(n), `${idOf(n - 1)} > ${idOf(0)}`],
    }),
  },
  {
    title: 'many small cycles along one path',
    make: (n) => ({
      blocks: {
        s: start(),
        ...blocksOf(n, () => code('')),
        ...Object.fromEntries(listOf(n, (index) => [`z${index}`, code('')])),
      },
      edges: [
        ...chainEdges(n),
        ...listOf(n, (index) => [`${idOf(index)} > z${index}`, `z${index} > ${idOf(index)}`]).flat(),
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
        ...Object.fromEntries(listOf(n, (index) => [`z${index}`, code('')])),
      },
      edges: [
        's > a',
        `${idOf(n - 1)} > a`,
        ...listOf(n, (index) => [
          `a > ${idOf(index)}`,
          `${idOf(index)} > z${index}`,
          `z${index} > ${idOf(index)}`,
        ]).flat(),
      ],
    }),
  },
  {
    title: 'cycles that all share a block',
    make: (n) => ({
      blocks: { s: start(), z: code(''), ...blocksOf(n, () => code('')) },
      edges: ['s > z', ...listOf(n, (index) => [`z > ${idOf(index)}`, `${idOf(index)} > z`]).flat()],
    }),
  },
];

const loopOf = (properties: BlockSettings = {}): BlockSettings => ({
  type: 'loop',
  data: { loopType: 'for', count: 2 },
  ...properties,
});

const CONTAINER_SHAPES: readonly Shape[] = [
  {
    title: 'many empty containers',
    make: (n) => ({ blocks: { s: start(), ...blocksOf(n, () => loopOf()) }, edges: chainEdges(n) }),
  },
  {
    title: 'many containers, each with a block',
    make: (n) => ({
      blocks: {
        s: start(),
        ...blocksOf(n, () => loopOf()),
        ...Object.fromEntries(
          listOf(n, (index) => [`i${index}`, code('return <loop.index>', { parentId: idOf(index) })]),
        ),
      },
      edges: [...chainEdges(n), ...listOf(n, (index) => `${idOf(index)}:loop-start-source > i${index}`)],
    }),
  },
  {
    title: 'containers nested more deeply than allowed',
    make: (n) => ({
      blocks: {
        s: start(),
        ...blocksOf(n, (index) => loopOf(index > 0 ? { parentId: idOf(index - 1) } : {})),
      },
      edges: [
        's > b000000',
        ...listOf(n - 1, (index) => `${idOf(index)}:loop-start-source > ${idOf(index + 1)}`),
      ],
    }),
  },
  {
    title: 'containers that form a cycle',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, (index) => loopOf({ parentId: idOf((index + 1) % n) })) },
      edges: ['s > b000000'],
    }),
  },
  {
    title: 'a stored map that lists nested children in the outermost container',
    make: (n) => ({
      blocks: {
        s: start(),
        ...blocksOf(n, (index) => loopOf(index > 0 ? { parentId: idOf(index - 1) } : {})),
      },
      edges: ['s > b000000'],
      state: { loops: { [idOf(0)]: { id: idOf(0), nodes: listOf(n - 1, (index) => idOf(index + 1)) } } },
    }),
  },
  {
    title: 'a stored map for each container, each with the same nodes',
    make: (n) => ({
      blocks: { s: start(), ...blocksOf(n, () => loopOf()), inner: code('') },
      edges: chainEdges(n),
      state: {
        loops: Object.fromEntries(
          listOf(n, (index) => [idOf(index), { id: idOf(index), nodes: ['inner', idOf(index + 1)] }]),
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
            collection: JSON.stringify(listOf(n, (index) => `{{N${index}}} <nosuch.x${index}>`)),
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

const VALUE_SHAPES: readonly Shape[] = [
  {
    title: 'a long array of objects',
    make: (n) => workflowWith({ data: listOf(n, (index) => ({ [`k${index}`]: `<fetch.result.${index}>` })) }),
  },
  {
    title: 'values nested too deeply',
    make: (n) => {
      let value: Json = listOf(n, () => [[]]);
      for (let depth = 0; depth < 90; depth++) value = [value];
      return workflowWith({ data: value });
    },
  },
  {
    title: 'a long string',
    make: (n) => workflowWith({ data: 'x '.repeat(n * 10), builderData: '{'.repeat(n * 10) }),
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
      edges: chainEdges(n),
    }),
  },
  {
    title: 'code that does not parse',
    make: (n) => ({ blocks: { s: start(), ...blocksOf(n, () => code('return (')) }, edges: chainEdges(n) }),
  },
  {
    title: 'long code',
    make: (n) =>
      workflowWith(
        { code: repeat(n, (index) => `let v${index} = { a: [1, "x"] };\n`) },
        { type: 'function' },
      ),
  },
  {
    title: 'many variables in one declaration',
    size: 10_000,
    make: (n) =>
      workflowWith({ code: `let ${listOf(n, (index) => `v${index}`).join(', ')};` }, { type: 'function' }),
  },
];

/** All shapes of workflows. */
export const SHAPES: readonly Shape[] = [
  ...REFERENCE_SHAPES,
  ...NAME_SHAPES,
  ...EDGE_SHAPES,
  ...CONTAINER_SHAPES,
  ...VALUE_SHAPES,
];

/** Returns the workflow file as JSON. */
export function workflowFileText(workflow: WorkflowSettings): string {
  return JSON.stringify(workflowFile(workflow));
}

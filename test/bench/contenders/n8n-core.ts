import { requirePeer } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { createImportWorkloads } from './process.ts';

interface Execution {
  data: { resultData: { error?: Error; runData: { [node: string]: { data: { main: Item[][] } }[] } } };
}

interface Item {
  /** Without `n` in the item with which a run starts. */
  json: { n?: number };
}

interface CoreModule {
  ExecutionLifecycleHooks: new (mode: string, id: string, workflow: object) => object;
  WorkflowExecute: new (data: object, mode: string) => { run(options: object): Promise<Execution> };
}

interface WorkflowModule {
  Workflow: new (options: object) => { getNode(name: string): object };
}

interface Context {
  getInputData(index?: number): Item[];
  getNodeParameter(name: string, index: number): number;
}

type Edge = [from: string, to: Graph['connections'][string]];

interface Graph {
  nodes: object[];
  connections: { [from: string]: { main: { node: string; type: 'main'; index: number }[][] } };
}

const nodeType = (
  inputs: number,
  outputs: number,
  execute: (this: Context) => Promise<Item[][]>,
): object => ({
  description: {
    displayName: 'Bench',
    name: 'bench',
    group: ['transform'],
    version: 1,
    description: '',
    defaults: {},
    inputs: Array(inputs).fill('main'),
    outputs: Array(outputs).fill('main'),
    properties: [{ displayName: 'Limit', name: 'limit', type: 'number', default: 0 }],
  },
  execute,
});

function nodeTypesOf(joinInputs: number): { [type: string]: object } {
  return {
    step: nodeType(1, 1, async function () {
      return [this.getInputData().map(({ json }) => ({ json: { n: (json.n ?? 0) + 1 } }))];
    }),
    condition: nodeType(1, 2, async function () {
      const items = this.getInputData();
      const limit = this.getNodeParameter('limit', 0);
      return ((items[0] as Item).json.n ?? 0) < limit ? [items, []] : [[], items];
    }),
    join: nodeType(joinInputs, 1, async function () {
      return [this.getInputData(0)];
    }),
  };
}

async function workloadOf(
  graph: Graph,
  { lastNode, expected, joinInputs = 1 }: { lastNode: string; expected: number; joinInputs?: number },
): Promise<TimedWorkload> {
  const { ExecutionLifecycleHooks, WorkflowExecute } = requirePeer<CoreModule>('n8n-core');
  const { Workflow } = requirePeer<WorkflowModule>('n8n-workflow');
  const knownTypes = nodeTypesOf(joinInputs);
  const nodeTypes = {
    getByName: (type: string) => knownTypes[type],
    getByNameAndVersion: (type: string) => knownTypes[type],
    getKnownTypes: () => ({}),
  };
  const settings = { executionOrder: 'v1' };
  const flow = new Workflow({ id: 'w', name: 'w', ...graph, active: false, nodeTypes, settings });
  const data = { id: 'w', name: 'w', ...graph, active: false, settings };
  return {
    async runOnce() {
      const additionalData = {
        hooks: new ExecutionLifecycleHooks('manual', '1', data),
        executionId: '1',
        webhookWaitingBaseUrl: 'http://localhost/wait',
        formWaitingBaseUrl: 'http://localhost/form',
        currentNodeParameters: {},
        variables: {},
        secretsHelpers: {},
        setExecutionStatus: () => undefined,
      };
      const execution = new WorkflowExecute(additionalData, 'manual');
      const { resultData } = (await execution.run({ workflow: flow, startNode: flow.getNode('s0') })).data;
      if (resultData.error) throw resultData.error;
      const [items] = resultData.runData[lastNode]?.at(-1)?.data.main.slice(-1) ?? [];
      expectResult(items?.[0]?.json.n, expected);
    },
  };
}

const node = (name: string, type: string, limit = 0): object => ({
  id: name,
  name,
  type,
  typeVersion: 1,
  position: [0, 0],
  parameters: { limit },
});

const connectionTo = (name: string, index = 0): { node: string; type: 'main'; index: number } => ({
  node: name,
  type: 'main',
  index,
});

/** n8n's engine without database, server or editor, with minimal nodes written for this benchmark. */
export const contender: Contender = {
  ...createImportWorkloads('n8n-core'),
  chain(size) {
    const names = Array.from({ length: size }, (_, i) => `s${i}`);
    const edges = names.slice(1).map((name, i) => [`s${i}`, { main: [[connectionTo(name)]] }] satisfies Edge);
    const nodes = names.map((name) => node(name, 'step'));
    return workloadOf(
      { nodes, connections: Object.fromEntries(edges) },
      { lastNode: names.at(-1) as string, expected: size },
    );
  },
  loop: (size) =>
    workloadOf(
      {
        nodes: [node('s0', 'step'), node('condition', 'condition', size), node('end', 'step')],
        connections: {
          s0: { main: [[connectionTo('condition')]] },
          condition: { main: [[connectionTo('s0')], [connectionTo('end')]] },
        },
      },
      { lastNode: 'end', expected: size + 1 },
    ),
  'fan-out'(size) {
    const names = Array.from({ length: size }, (_, i) => `b${i}`);
    const nodes = [node('s0', 'step'), ...names.map((name) => node(name, 'step')), node('join', 'join')];
    const edges = names.map((name, i) => [name, { main: [[connectionTo('join', i)]] }] satisfies Edge);
    const fanOut = { main: [names.map((name) => connectionTo(name))] };
    const connections = { s0: fanOut, ...Object.fromEntries(edges) };
    return workloadOf({ nodes, connections }, { lastNode: 'join', expected: 2, joinInputs: size });
  },
};

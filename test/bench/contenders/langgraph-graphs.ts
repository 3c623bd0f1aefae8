import { importPeer } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';

interface Builder {
  addNode(name: string, execute: (state: State) => Promise<{ n: number }>): Builder;
  addEdge(from: string | string[], to: string): Builder;
  addConditionalEdges(from: string, route: (state: State) => string, targets: string[]): Builder;
  compile(options: object): { invoke(input: object, config: object): Promise<State> };
}

interface State {
  n: number;
}

interface LangGraphModule {
  Annotation: ((options: object) => unknown) & { Root(fields: object): unknown };
  StateGraph: new (state: unknown) => Builder;
}

export interface GraphWorkloadOptions {
  build(builder: Builder): Builder;
  expected: number;
  /** If set, saves a checkpoint after each step. */
  checkpointer?: object;
  concurrency?: number;
}

let threadCount = 0;

/** Returns a workload: `concurrency` concurrent runs of a graph. Its state is a number, to which each step adds 1. */
export async function createGraphWorkload({
  build,
  expected,
  checkpointer,
  concurrency = 1,
}: GraphWorkloadOptions): Promise<TimedWorkload> {
  const { Annotation, StateGraph } = await importPeer<LangGraphModule>('@langchain/langgraph');
  const n = Annotation({ reducer: (a: number, b: number) => a + b, default: () => 0 });
  const app = build(new StateGraph(Annotation.Root({ n }))).compile({ checkpointer });
  const runGraph = async (): Promise<void> => {
    const config = { recursionLimit: 1_000_000, configurable: { thread_id: `t${threadCount++}` } };
    expectResult((await app.invoke({ n: 0 }, config)).n, expected);
  };
  return { runOnce: async () => void (await Promise.all(Array.from({ length: concurrency }, runGraph))) };
}

const step = async (): Promise<State> => ({ n: 1 });

const stepNames = (size: number): string[] => Array.from({ length: size }, (_, i) => `s${i}`);

export function addChain(builder: Builder, size: number): Builder {
  for (const name of stepNames(size)) builder.addNode(name, step);
  const nodes = ['__start__', ...stepNames(size), '__end__'];
  for (const [i, node] of nodes.slice(1).entries()) builder.addEdge(nodes[i] as string, node);
  return builder;
}

/** The graphs that need no checkpointer. */
export const graphs: Contender = {
  chain: (size) => createGraphWorkload({ build: (builder) => addChain(builder, size), expected: size }),
  loop: (size) =>
    createGraphWorkload({
      build: (builder) =>
        builder
          .addNode('step', step)
          .addEdge('__start__', 'step')
          .addConditionalEdges('step', ({ n }) => (n < size ? 'step' : '__end__'), ['step', '__end__']),
      expected: size,
    }),
  'fan-out': (size) =>
    createGraphWorkload({
      build(builder) {
        for (const name of stepNames(size)) builder.addNode(name, step).addEdge('__start__', name);
        return builder.addNode('join', step).addEdge(stepNames(size), 'join').addEdge('join', '__end__');
      },
      expected: size + 1,
    }),
};

import { peer } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { importOnly } from './process.ts';

interface Module {
  assign(update: object): unknown;
  createActor(machine: unknown): { start(): unknown };
  createMachine(definition: object): unknown;
  fromPromise(logic: (call: { input: number }) => Promise<number>): unknown;
  waitFor(actor: unknown, done: (snapshot: Snapshot) => boolean, options: object): Promise<Snapshot>;
}

interface Snapshot {
  status: string;
  context: { n: number };
}

type Definition = (parts: { step: unknown; count: unknown }) => object;

async function machine(definitionOf: Definition, expected: number): Promise<TimedWorkload> {
  const { assign, createActor, createMachine, fromPromise, waitFor } = await peer<Module>('xstate');
  const step = fromPromise(async ({ input }) => input + 1);
  const count = assign({ n: ({ context }: Snapshot) => context.n + 1 });
  const executable = createMachine({ context: { n: 0 }, ...definitionOf({ step, count }) });
  return {
    async once() {
      const actor = createActor(executable);
      const ended = waitFor(actor, ({ status }) => status === 'done', { timeout: Infinity });
      actor.start();
      expectResult((await ended).context.n, expected);
    },
  };
}

const invoke = (step: unknown, onDone: unknown): object => ({
  invoke: { src: step, input: ({ context }: Snapshot) => context.n, onDone },
});

/** A state machine whose steps are invoked promises. */
export const contender: Contender = {
  ...importOnly('xstate'),
  chain: (size) =>
    machine(({ step, count }) => {
      const states = Array.from({ length: size }, (_, i) => [
        `s${i}`,
        invoke(step, { target: i + 1 < size ? `s${i + 1}` : 'done', actions: count }),
      ]);
      return { initial: 's0', states: { ...Object.fromEntries(states), done: { type: 'final' } } };
    }, size),
  loop: (size) =>
    machine(({ step, count }) => {
      const isLast = ({ context }: Snapshot): boolean => context.n + 1 >= size;
      const onDone = [
        { guard: isLast, target: 'done', actions: count },
        { target: 'iteration', reenter: true, actions: count },
      ];
      return { initial: 'iteration', states: { iteration: invoke(step, onDone), done: { type: 'final' } } };
    }, size),
  fan: (size) =>
    machine(({ step, count }) => {
      const branches = Array.from({ length: size }, (_, i) => {
        const work = invoke(step, { target: 'done', actions: count });
        return [`b${i}`, { initial: 'work', states: { work, done: { type: 'final' } } }];
      });
      const fan = { type: 'parallel', states: Object.fromEntries(branches), onDone: 'done' };
      return { initial: 'fan', states: { fan, done: { type: 'final' } } };
    }, size),
};

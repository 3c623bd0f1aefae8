import { importPeer } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { createImportWorkloads } from './process.ts';

interface XStateModule {
  assign(update: object): unknown;
  createActor(machine: unknown): { start(): unknown };
  createMachine(definition: object): unknown;
  fromPromise(creator: (options: { input: number }) => Promise<number>): unknown;
  waitFor(actor: unknown, predicate: (snapshot: Snapshot) => boolean, options: object): Promise<Snapshot>;
}

interface Snapshot {
  status: string;
  context: { n: number };
}

type CreateDefinition = (implementations: { step: unknown; increment: unknown }) => object;

async function createMachineWorkload(
  createDefinition: CreateDefinition,
  expected: number,
): Promise<TimedWorkload> {
  const { assign, createActor, createMachine, fromPromise, waitFor } =
    await importPeer<XStateModule>('xstate');
  const step = fromPromise(async ({ input }) => input + 1);
  const increment = assign({ n: ({ context }: Snapshot) => context.n + 1 });
  const machine = createMachine({ context: { n: 0 }, ...createDefinition({ step, increment }) });
  return {
    async runOnce() {
      const actor = createActor(machine);
      const ended = waitFor(actor, ({ status }) => status === 'done', { timeout: Infinity });
      actor.start();
      expectResult((await ended).context.n, expected);
    },
  };
}

const invokingState = (step: unknown, onDone: unknown): object => ({
  invoke: { src: step, input: ({ context }: Snapshot) => context.n, onDone },
});

/** A state machine whose steps are invoked promises. */
export const contender: Contender = {
  ...createImportWorkloads('xstate'),
  chain: (size) =>
    createMachineWorkload(({ step, increment }) => {
      const states = Array.from({ length: size }, (_, i) => [
        `s${i}`,
        invokingState(step, { target: i + 1 < size ? `s${i + 1}` : 'done', actions: increment }),
      ]);
      return { initial: 's0', states: { ...Object.fromEntries(states), done: { type: 'final' } } };
    }, size),
  loop: (size) =>
    createMachineWorkload(({ step, increment }) => {
      const isLast = ({ context }: Snapshot): boolean => context.n + 1 >= size;
      const onDone = [
        { guard: isLast, target: 'done', actions: increment },
        { target: 'iteration', reenter: true, actions: increment },
      ];
      return {
        initial: 'iteration',
        states: { iteration: invokingState(step, onDone), done: { type: 'final' } },
      };
    }, size),
  'fan-out': (size) =>
    createMachineWorkload(({ step, increment }) => {
      const branches = Array.from({ length: size }, (_, i) => {
        const work = invokingState(step, { target: 'done', actions: increment });
        return [`b${i}`, { initial: 'work', states: { work, done: { type: 'final' } } }];
      });
      const fanOut = { type: 'parallel', states: Object.fromEntries(branches), onDone: 'done' };
      return { initial: 'fanOut', states: { fanOut, done: { type: 'final' } } };
    }, size),
};

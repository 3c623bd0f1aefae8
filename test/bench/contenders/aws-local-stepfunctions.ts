import { importPeer } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { createImportWorkloads } from './process.ts';

interface StepFunctionsModule {
  StateMachine: new (definition: object) => {
    run(input: unknown, options: object): { result: Promise<unknown> };
  };
}

const increment = (input: { n: number }): { n: number } => ({ n: input.n + 1 });

const task = (name: string, next?: string): object => ({
  Type: 'Task',
  Resource: `arn:aws:lambda:us-east-1:123456789012:function:${name}`,
  ...(next === undefined ? { End: true } : { Next: next }),
});

async function createWorkload(
  definition: object,
  tasks: readonly string[],
  check: (result: unknown) => void,
): Promise<TimedWorkload> {
  const { StateMachine } = await importPeer<StepFunctionsModule>('aws-local-stepfunctions');
  const stateMachine = new StateMachine(definition);
  const handlers = Object.fromEntries(tasks.map((name) => [name, increment]));
  return {
    async runOnce() {
      const options = { overrides: { taskResourceLocalHandlers: handlers } };
      check(await stateMachine.run({ n: 0 }, options).result);
    },
  };
}

/** An interpreter of Amazon States Language. Its tasks are functions, and it records nothing. */
export const contender: Contender = {
  ...createImportWorkloads('aws-local-stepfunctions'),
  chain(size) {
    const names = Array.from({ length: size }, (_, i) => `S${i}`);
    const states = Object.fromEntries(names.map((name, i) => [name, task(name, names[i + 1])]));
    return createWorkload({ StartAt: 'S0', States: states }, names, (r) =>
      expectResult((r as { n: number }).n, size),
    );
  },
  loop(size) {
    const repeatRule = { Variable: '$.n', NumericLessThan: size, Next: 'Step' };
    const states = {
      Step: task('Step', 'More'),
      More: { Type: 'Choice', Choices: [repeatRule], Default: 'Done' },
      Done: { Type: 'Succeed' },
    };
    return createWorkload({ StartAt: 'Step', States: states }, ['Step'], (r) =>
      expectResult((r as { n: number }).n, size),
    );
  },
  'fan-out'(size) {
    const names = Array.from({ length: size }, (_, i) => `S${i}`);
    const branches = names.map((name) => ({ StartAt: name, States: { [name]: task(name) } }));
    const states = { FanOut: { Type: 'Parallel', Branches: branches, End: true } };
    return createWorkload({ StartAt: 'FanOut', States: states }, names, (r) =>
      expectResult((r as unknown[]).length, size),
    );
  },
};

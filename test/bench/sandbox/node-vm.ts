import vm from 'node:vm';
import { requirePeer } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { CODE, expectExpressionResults, expressionsOf, INPUT, PACKAGES_CODE, RESULT } from './code.ts';
import { createTwoProcessesWorkload } from './two-processes.ts';
import { programWorkloads } from './program.ts';

/** Returns a workload that creates a new context for each execution, in this process. */
function createContextWorkload(executionCount: number, { code = CODE, globals = {} } = {}): TimedWorkload {
  const script = `(() => { ${code} })()`;
  return {
    runOnce() {
      for (let i = 0; i < executionCount; i++)
        expectResult(vm.runInContext(script, vm.createContext({ ...globals, n: INPUT })), RESULT);
    },
  };
}

/** `node:vm`, which is not a security boundary according to its documentation. */
export const contender: Contender = {
  ...programWorkloads({ url: import.meta.url }),
  sandbox: () => createContextWorkload(1),
  'sandbox in flight': (size) => createContextWorkload(size),
  'sandbox on two cores': (size) => createTwoProcessesWorkload('node:vm', size),
  // The packages are loaded in the main context, so the code can reach objects of the host.
  'sandbox packages': () =>
    createContextWorkload(1, {
      code: PACKAGES_CODE,
      globals: { require: (name: string) => requirePeer(name) },
    }),
  expressions: (size) => ({
    runOnce() {
      const context = vm.createContext({ n: INPUT });
      expectExpressionResults(expressionsOf(size).map((code) => vm.runInContext(code, context) as number));
    },
  }),
};

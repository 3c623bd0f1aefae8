import vm from 'node:vm';
import { requirePeer } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { CODE, expectValues, expressionsOf, INPUT, PACKAGES_CODE, RESULT } from './code.ts';
import { twoProcesses } from './two-processes.ts';
import { programWorkloads } from './program.ts';

/** Returns a workload that creates a new context for each execution, in this process. */
function contexts(inFlight: number, { code = CODE, globals = {} } = {}): TimedWorkload {
  const script = `(() => { ${code} })()`;
  return {
    once() {
      for (let i = 0; i < inFlight; i++)
        expectResult(vm.runInContext(script, vm.createContext({ ...globals, n: INPUT })), RESULT);
    },
  };
}

/** `node:vm`, which is not a security boundary according to its documentation. */
export const contender: Contender = {
  ...programWorkloads({ url: import.meta.url }),
  sandbox: () => contexts(1),
  'sandbox in flight': (size) => contexts(size),
  'sandbox on two cores': (size) => twoProcesses('node:vm', size),
  // The packages are loaded in the main context, so the code can reach objects of the host.
  'sandbox packages': () =>
    contexts(1, { code: PACKAGES_CODE, globals: { require: (name: string) => requirePeer(name) } }),
  expressions: (size) => ({
    once() {
      const context = vm.createContext({ n: INPUT });
      expectValues(expressionsOf(size).map((code) => vm.runInContext(code, context) as number));
    },
  }),
};

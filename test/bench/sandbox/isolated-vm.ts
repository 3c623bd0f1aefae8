import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { CODE, expectValues, expressionsOf, INPUT, PACKAGES_CODE, RESULT } from './code.ts';
import { twoProcessesWorkload } from './two-processes.ts';
import { loadIsolatedVm } from './load-isolated-vm.ts';
import type { Context } from './load-isolated-vm.ts';
import { programWorkloads } from './program.ts';

interface Options {
  snapshot?: object;
  size?: number;
}

/** Returns a workload that creates a new isolate with a context for each execution, in this process. */
function isolateWorkload(
  runCode: (context: Context) => void,
  { snapshot, size = 1 }: Options = {},
): TimedWorkload {
  const { Isolate } = loadIsolatedVm();
  const execute = (): void => {
    const isolate = new Isolate({ memoryLimit: 64, ...(snapshot && { snapshot }) });
    runCode(isolate.createContextSync());
    isolate.dispose();
  };
  return {
    runOnce() {
      for (let i = 0; i < size; i++) execute();
    },
  };
}

const executorOf = (code: string) => (context: Context) => {
  context.evalSync(`var n = ${INPUT}`);
  expectResult(context.evalClosureSync(code, []), RESULT);
};

/** isolated-vm in this process: the isolation of V8, without isolation by the operating system. */
export const contender: Contender = {
  ...programWorkloads({ url: import.meta.url, nodeOptions: ['--no-node-snapshot'] }),
  sandbox: () => isolateWorkload(executorOf(CODE)),
  'sandbox in flight': (size) => isolateWorkload(executorOf(CODE), { size }),
  'sandbox on two cores': (size) => twoProcessesWorkload('isolated-vm', size),
  // Starts from a snapshot with the loaded packages, which is its fastest option.
  async 'sandbox packages'() {
    const { bundlePackages } = await import('./bundle.ts');
    const snapshot = loadIsolatedVm().Isolate.createSnapshot([{ code: await bundlePackages() }]);
    return isolateWorkload(executorOf(PACKAGES_CODE), { snapshot });
  },
  expressions: (size) =>
    isolateWorkload((context) => {
      context.evalSync(`var n = ${INPUT}`);
      expectValues(expressionsOf(size).map((code) => context.evalSync(code) as number));
    }),
};

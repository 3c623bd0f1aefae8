import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { CODE, expectExpressionResults, expressionsOf, INPUT, PACKAGES_CODE, RESULT } from './code.ts';
import { createTwoProcessesWorkload } from './two-processes.ts';
import { loadIsolatedVm } from './load-isolated-vm.ts';
import type { Context } from './load-isolated-vm.ts';
import { programWorkloads } from './program.ts';

interface Options {
  snapshot?: object;
  executionCount?: number;
}

/** Returns a workload that creates a new isolate with a context for each execution, in this process. */
function createIsolateWorkload(
  runCode: (context: Context) => void,
  { snapshot, executionCount = 1 }: Options = {},
): TimedWorkload {
  const { Isolate } = loadIsolatedVm();
  const execute = (): void => {
    const isolate = new Isolate({ memoryLimit: 64, ...(snapshot && { snapshot }) });
    runCode(isolate.createContextSync());
    isolate.dispose();
  };
  return {
    runOnce() {
      for (let i = 0; i < executionCount; i++) execute();
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
  sandbox: () => createIsolateWorkload(executorOf(CODE)),
  'sandbox in flight': (size) => createIsolateWorkload(executorOf(CODE), { executionCount: size }),
  'sandbox on two cores': (size) => createTwoProcessesWorkload('isolated-vm', size),
  // Starts from a snapshot with the loaded packages, which is its fastest option.
  async 'sandbox packages'() {
    const { bundlePackages } = await import('./bundle.ts');
    const snapshot = loadIsolatedVm().Isolate.createSnapshot([{ code: await bundlePackages() }]);
    return createIsolateWorkload(executorOf(PACKAGES_CODE), { snapshot });
  },
  expressions: (size) =>
    createIsolateWorkload((context) => {
      context.evalSync(`var n = ${INPUT}`);
      expectExpressionResults(expressionsOf(size).map((code) => context.evalSync(code) as number));
    }),
};

import { importPeer } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { CODE, expectExpressionResults, expressionsOf, INPUT, PACKAGES_CODE, RESULT } from './code.ts';
import { createTwoProcessesWorkload } from './two-processes.ts';
import { programWorkloads } from './program.ts';

interface Handle {
  dispose(): void;
}

interface Context {
  readonly global: Handle;
  newNumber(value: number): Handle;
  setProp(target: Handle, name: string, value: Handle): void;
  evalCode(code: string): unknown;
  unwrapResult(result: unknown): Handle;
  dump(handle: Handle): unknown;
  dispose(): void;
}

interface Module {
  getQuickJS(): Promise<{ newContext(): Context }>;
}

function evaluate(context: Context, code: string): unknown {
  const handle = context.unwrapResult(context.evalCode(code));
  const value = context.dump(handle);
  handle.dispose();
  return value;
}

/** Returns a workload that creates a new runtime with a context for each execution, in this process. */
async function createContextWorkload(
  runCode: (context: Context) => void,
  executionCount = 1,
): Promise<TimedWorkload> {
  const { getQuickJS } = await importPeer<Module>('quickjs-emscripten');
  const quickJs = await getQuickJS();
  const execute = (): void => {
    const context = quickJs.newContext();
    const n = context.newNumber(INPUT);
    context.setProp(context.global, 'n', n);
    n.dispose();
    runCode(context);
    context.dispose();
  };
  return {
    runOnce() {
      for (let i = 0; i < executionCount; i++) execute();
    },
  };
}

const executorOf = (code: string) => (context: Context) =>
  expectResult(evaluate(context, `(() => { ${code} })()`), RESULT);

/** A JavaScript interpreter in WebAssembly: an isolation boundary, but no JIT compiler. */
export const contender: Contender = {
  ...programWorkloads({ url: import.meta.url }),
  sandbox: () => createContextWorkload(executorOf(CODE)),
  'sandbox in flight': (size) => createContextWorkload(executorOf(CODE), size),
  'sandbox on two cores': (size) => createTwoProcessesWorkload('quickjs-emscripten', size),
  async 'sandbox packages'() {
    const { bundlePackages } = await import('./bundle.ts');
    const bundle = await bundlePackages();
    return createContextWorkload((context) => {
      context.unwrapResult(context.evalCode(bundle)).dispose();
      executorOf(PACKAGES_CODE)(context);
    });
  },
  expressions: (size) =>
    createContextWorkload((context) =>
      expectExpressionResults(expressionsOf(size).map((code) => evaluate(context, code) as number)),
    ),
};

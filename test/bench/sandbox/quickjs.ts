import { importPeer } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { CODE, expectValues, expressionsOf, INPUT, PACKAGES_CODE, RESULT } from './code.ts';
import { twoProcessesWorkload } from './two-processes.ts';
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
async function contextWorkload(runCode: (context: Context) => void, size = 1): Promise<TimedWorkload> {
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
      for (let i = 0; i < size; i++) execute();
    },
  };
}

const executorOf = (code: string) => (context: Context) =>
  expectResult(evaluate(context, `(() => { ${code} })()`), RESULT);

/** A JavaScript interpreter in WebAssembly: an isolation boundary, but no JIT compiler. */
export const contender: Contender = {
  ...programWorkloads({ url: import.meta.url }),
  sandbox: () => contextWorkload(executorOf(CODE)),
  'sandbox in flight': (size) => contextWorkload(executorOf(CODE), size),
  'sandbox on two cores': (size) => twoProcessesWorkload('quickjs-emscripten', size),
  async 'sandbox packages'() {
    const { bundlePackages } = await import('./bundle.ts');
    const bundle = await bundlePackages();
    return contextWorkload((context) => {
      context.unwrapResult(context.evalCode(bundle)).dispose();
      executorOf(PACKAGES_CODE)(context);
    });
  },
  expressions: (size) =>
    contextWorkload((context) =>
      expectValues(expressionsOf(size).map((code) => evaluate(context, code) as number)),
    ),
};

import { flatten } from '../image-protocol.ts';
import compileSource from '../python/image/compile.py';
import loadSource from '../python/image/load.py';
import type { PythonModuleFailure, PythonRequest, PythonReport } from '../image-protocol.ts';
import preimportSource from '../python/image/preimport.py';
import { join } from 'node:path';
import { SITE } from '../guest/python/site.ts';
import { FILES_FD } from '../isolation/program.ts';
import { PythonCode } from './python-code.ts';
import { Interpreter } from './python-realms.ts';
import type { IsolatedVm } from './realms.ts';

declare const require: (file: string) => { ivm: IsolatedVm };

const [addon, folder] = process.argv.slice(2) as [string, string];
const vm = require(addon).ivm;

/** Compiling runs no code of packages, so it may take its time. */
const COMPILE_MS = 600_000;

/** What goes into a snapshot is found by leaving out what does not, in fresh interpreters until nothing is left out. */
const MOST_PASSES = 5;

/** Runs a program of ours: the text that its function `main` gives for `argument`. */
function call(interpreter: Interpreter, source: string, argument: unknown, budgetMs: number): string {
  const json = JSON.stringify(JSON.stringify(argument));
  const space = '{"__name__": "heddle_image"}';
  const code = `(lambda space: (exec(${JSON.stringify(source)}, space), space["main"](${json}))[1])(${space})`;
  return interpreter.evaluate(code, budgetMs);
}

function within<T>(snapshot: string | number | null, use: (interpreter: Interpreter) => T): T {
  const interpreter = new Interpreter(vm, { folder, snapshot, site: FILES_FD }, new PythonCode(vm, folder));
  try {
    return use(interpreter);
  } finally {
    interpreter.dispose();
  }
}

/** Interpreters without packages begin with this memory. */
const PLAIN = join(folder, 'memory.snap');

function compile(): PythonReport {
  return within(PLAIN, (interpreter) => {
    const target = '/tmp/compiled.zip';
    const uncompiled = JSON.parse(call(interpreter, compileSource, [SITE, target], COMPILE_MS)) as string[];
    return { t: 'compiled', archive: interpreter.readFile(target), uncompiled };
  });
}

function load(order: Extract<PythonRequest, { t: 'load' }>): PythonReport {
  return within(order.fromSnapshot ? FILES_FD + 1 : PLAIN, (interpreter) => {
    const text = call(interpreter, loadSource, order.modules, order.cpuMs);
    const loaded = JSON.parse(text) as { order: string[]; failed: PythonModuleFailure[] };
    return { t: 'loaded', ...loaded };
  });
}

function snapshot(order: Extract<PythonRequest, { t: 'snapshot' }>): PythonReport {
  let modules = order.modules;
  const refused: Record<string, string> = {};
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const made = within(null, (interpreter) => {
      const text = call(interpreter, preimportSource, modules, order.cpuMs);
      const outcome = JSON.parse(text) as { imported: string[]; refused: Record<string, string> };
      modules = outcome.imported;
      Object.assign(refused, outcome.refused);
      // After a module was refused, parts of it may be there still: not in this interpreter's memory.
      return Object.keys(outcome.refused).length > 0 ? null : interpreter.makeSnapshot();
    });
    if (made !== null) return { t: 'snapshot', memory: made, imported: modules, refused };
  }
  return { t: 'failed', message: 'The modules do not load in the same way twice.' };
}

function work(order: PythonRequest): PythonReport {
  try {
    if (order.t === 'compile') return compile();
    return order.t === 'load' ? load(order) : snapshot(order);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (message.includes('timed out')) return { t: 'limit', limit: 'time' };
    if (/disposed|MemoryError|out of memory/i.test(message)) return { t: 'limit', limit: 'memory' };
    return { t: 'failed', message };
  }
}

process.on('message', (order: PythonRequest) => {
  process.send?.(flatten(work(order)), () => process.disconnect());
});
process.on('disconnect', () => process.exit(0));

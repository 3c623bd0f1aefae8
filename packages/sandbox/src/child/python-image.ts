import { flattenReport } from '../image-protocol.ts';
import compileSource from '../python/image/compile.py';
import loadSource from '../python/image/load.py';
import type { PythonModuleFailure, PythonRequest, PythonReport } from '../image-protocol.ts';
import preimportSource from '../python/image/preimport.py';
import { join } from 'node:path';
import { SITE_FOLDER } from '../guest/python/site.ts';
import { FILES_FD } from '../isolation/program.ts';
import { PythonCode } from './python-code.ts';
import { Interpreter } from './python-realms.ts';
import type { IsolatedVm } from './realms.ts';

declare const require: (file: string) => { ivm: IsolatedVm };

const [addon, folder] = process.argv.slice(2) as [string, string];
const vm = require(addon).ivm;

/** Time limit for compiling. It is long, because compiling runs no code of packages. */
const COMPILE_TIMEOUT_MS = 600_000;

/**
 * Maximum number of attempts to make a snapshot. After each attempt, modules that cannot be in a snapshot are omitted,
 * and the others are retried in a fresh interpreter.
 */
const MAX_ATTEMPTS = 5;

/** Runs a Python program of this package. Returns the string that its function `main` returns for `argument`. */
function callMain(interpreter: Interpreter, source: string, argument: unknown, budgetMs: number): string {
  const json = JSON.stringify(JSON.stringify(argument));
  const namespace = '{"__name__": "heddle_image"}';
  const code = `(lambda space: (exec(${JSON.stringify(source)}, space), space["main"](${json}))[1])(${namespace})`;
  return interpreter.evaluate(code, budgetMs);
}

function withInterpreter<T>(snapshot: string | number | undefined, use: (interpreter: Interpreter) => T): T {
  const interpreter = new Interpreter(vm, { folder, snapshot, site: FILES_FD }, new PythonCode(vm, folder));
  try {
    return use(interpreter);
  } finally {
    interpreter.dispose();
  }
}

/** Memory snapshot of an interpreter without packages. */
const BASE_SNAPSHOT = join(folder, 'memory.snap');

function compile(): PythonReport {
  return withInterpreter(BASE_SNAPSHOT, (interpreter) => {
    const target = '/tmp/compiled.zip';
    const uncompiled = JSON.parse(
      callMain(interpreter, compileSource, [SITE_FOLDER, target], COMPILE_TIMEOUT_MS),
    ) as string[];
    return { t: 'compiled', archive: interpreter.readFile(target), uncompiled };
  });
}

function load(request: Extract<PythonRequest, { t: 'load' }>): PythonReport {
  return withInterpreter(request.fromSnapshot ? FILES_FD + 1 : BASE_SNAPSHOT, (interpreter) => {
    const text = callMain(interpreter, loadSource, request.modules, request.cpuMs);
    const loadResult = JSON.parse(text) as { order: string[]; failed: PythonModuleFailure[] };
    return { t: 'loaded', ...loadResult };
  });
}

function createSnapshot(request: Extract<PythonRequest, { t: 'snapshot' }>): PythonReport {
  let modules = request.modules;
  const refused: Record<string, string> = {};
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const memory = withInterpreter(undefined, (interpreter) => {
      const text = callMain(interpreter, preimportSource, modules, request.cpuMs);
      const outcome = JSON.parse(text) as { imported: string[]; refused: Record<string, string> };
      modules = outcome.imported;
      Object.assign(refused, outcome.refused);
      // Parts of a refused module may remain, so this interpreter's memory is not used.
      return Object.keys(outcome.refused).length > 0 ? undefined : interpreter.makeSnapshot();
    });
    if (memory !== undefined) return { t: 'snapshot', memory, imported: modules, refused };
  }
  return { t: 'failed', message: `Importing the modules failed in each of ${MAX_ATTEMPTS} attempts.` };
}

function handle(request: PythonRequest): PythonReport {
  try {
    if (request.t === 'compile') return compile();
    return request.t === 'load' ? load(request) : createSnapshot(request);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (message.includes('timed out')) return { t: 'limit', limit: 'time' };
    if (/disposed|MemoryError|out of memory/i.test(message)) return { t: 'limit', limit: 'memory' };
    return { t: 'failed', message };
  }
}

process.on('message', (request: PythonRequest) => {
  process.send?.(flattenReport(handle(request)), () => process.disconnect());
});
process.on('disconnect', () => process.exit(0));

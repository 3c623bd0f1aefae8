import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { FILES_FD } from '../isolation/program.ts';
import { PythonCode } from './python-code.ts';
import { Interpreter, Interpreters, type InterpreterSource } from './python-realms.ts';
import type { IsolatedVm } from './realms.ts';
import { serve } from './serve.ts';

declare const require: (file: string) => { ivm: IsolatedVm };

/**
 * Arguments: the addon, the folder of the interpreter's files, and a task. `snapshot FILE` writes a snapshot to a file,
 * and `make` sends one to the supervisor. All other tasks serve jobs. Without a task, interpreters start from the
 * snapshot of their memory in the folder. The parent process can pass files as open file descriptors: with `own`, the
 * first is the snapshot; with `site`, it contains the packages of an image; with `memory`, the second is also the
 * snapshot of the image.
 */
const [addon, folder, task, file] = process.argv.slice(2) as [string, string, ...(string | undefined)[]];

// Disables stack switching, an experimental feature of V8 that is not needed. V8 ignores unknown names.
setFlagsFromString('--no-experimental-wasm-jspi');

const vm = require(addon).ivm;
const code = new PythonCode(vm, folder);
const createInterpreter = (source: InterpreterSource): Interpreter => new Interpreter(vm, source, code);

function makeSnapshot(): Uint8Array {
  const interpreter = createInterpreter({ folder });
  const snapshot = interpreter.makeSnapshot();
  interpreter.dispose();
  return snapshot;
}

const SNAPSHOT_FDS: Readonly<Record<string, number>> = { own: FILES_FD, memory: FILES_FD + 1 };
const snapshot = SNAPSHOT_FDS[task ?? ''] ?? join(folder, 'memory.snap');
const source = { folder, snapshot, site: task === 'site' || task === 'memory' ? FILES_FD : undefined };

if (task === 'snapshot') writeFileSync(String(file), makeSnapshot());
else if (task === 'make') {
  serve(({ memoryMiB }) => ({
    realms: new Interpreters(createInterpreter, source, memoryMiB),
    snapshot: makeSnapshot(),
  }));
} else {
  serve(
    ({ memoryMiB }) => {
      const interpreters = new Interpreters(createInterpreter, source, memoryMiB);
      interpreters.prepare();
      code.keepWasmCompiled();
      return { realms: interpreters };
    },
    { jobsPerMeasurement: 1 },
  );
}

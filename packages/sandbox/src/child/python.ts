import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { FILES_FD } from '../isolation/program.ts';
import { PythonCode } from './python-code.ts';
import { Interpreter, Interpreters, type Origin } from './python-realms.ts';
import type { IsolatedVm } from './realms.ts';
import { serve } from './serve.ts';

declare const require: (file: string) => { ivm: IsolatedVm };

/**
 * The addon, the folder of the interpreter's files, and a task: `snapshot FILE` writes one and `make` sends it, `own` begins
 * with the one that is the first of the open files, `site` serves an image whose packages are the first, `memory` one whose
 * memory is the second.
 */
const [addon, folder, task, file] = process.argv.slice(2) as [string, string, ...(string | undefined)[]];

// Switching stacks is an experiment of V8, and nothing here needs it. V8 passes over names that it does not know.
setFlagsFromString('--no-experimental-wasm-jspi');

const vm = require(addon).ivm;
const code = new PythonCode(vm, folder);
const make = (origin: Origin): Interpreter => new Interpreter(vm, origin, code);

function makeSnapshot(): Uint8Array {
  const interpreter = make({ folder, snapshot: null, site: null });
  const snapshot = interpreter.makeSnapshot();
  interpreter.dispose();
  return snapshot;
}

const SNAPSHOTS: Readonly<Record<string, number>> = { own: FILES_FD, memory: FILES_FD + 1 };
const snapshot = SNAPSHOTS[task ?? ''] ?? join(folder, 'memory.snap');
const origin = { folder, snapshot, site: task === 'site' || task === 'memory' ? FILES_FD : null };

if (task === 'snapshot') writeFileSync(String(file), makeSnapshot());
else if (task === 'make') {
  serve(({ memoryMiB }) => ({
    realms: new Interpreters(make, origin, memoryMiB),
    snapshot: makeSnapshot(),
  }));
} else {
  serve(
    ({ memoryMiB }) => {
      const interpreters = new Interpreters(make, origin, memoryMiB);
      interpreters.prepare();
      code.keep();
      return { realms: interpreters, snapshot: null };
    },
    { measureEvery: 1 },
  );
}

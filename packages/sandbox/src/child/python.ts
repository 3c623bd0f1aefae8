import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Interpreter, Interpreters, type Origin } from './python-realms.ts';
import type { IsolatedVm } from './realms.ts';
import { serve } from './serve.ts';

declare const require: (file: string) => { ivm: IsolatedVm };

/** The addon, the folder of the interpreter's files, and where a snapshot is written instead of serving. */
const [addon, folder, target] = process.argv.slice(2) as [string, string, string?];

const vm = require(addon).ivm;
const make = (origin: Origin): Interpreter => new Interpreter(vm, origin);

if (target === undefined) {
  serve(
    () => {
      const interpreters = new Interpreters(() => make({ folder, snapshot: join(folder, 'memory.snap') }));
      interpreters.prepare();
      return { realms: interpreters, snapshot: null };
    },
    { measureEvery: 1 },
  );
} else {
  const interpreter = make({ folder, snapshot: null });
  writeFileSync(target, interpreter.makeSnapshot());
  interpreter.dispose();
}

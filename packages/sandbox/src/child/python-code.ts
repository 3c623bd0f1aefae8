import { fstatSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { CachedDataResult, ExternalCopy, Isolate, Script } from 'isolated-vm';
import type { IsolatedVm } from './realms.ts';

const FILENAME = 'heddle-python.js';

/** Heap of the isolate that keeps the compiled module alive; no code runs in it. */
const HOLDER_MEMORY_MIB = 64;

/** Reads a whole open file from its start; can be repeated. */
function readDescriptor(descriptor: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(fstatSync(descriptor).size);
  for (let offset = 0; offset < bytes.length;) {
    const count = readSync(descriptor, bytes, offset, bytes.length - offset, offset);
    if (count === 0) throw new Error('A file of the image became shorter.');
    offset += count;
  }
  return bytes;
}

/** Returns a file's bytes as a value that is transferred into an isolate without copying. */
export function transferFile(vm: IsolatedVm, file: string | number): unknown {
  const bytes = typeof file === 'string' ? readFileSync(file) : readDescriptor(file);
  const copy = new vm.ExternalCopy(bytes.buffer as ArrayBuffer, { transferOut: true });
  return copy.copyInto({ transferIn: true, release: true });
}

/**
 * Interpreter code that is compiled once per process. V8 shares the compiled form of equal WebAssembly code as long as
 * any isolate holds it, so one isolate holds it permanently. No interpreter state is shared.
 */
export class PythonCode {
  readonly #vm: IsolatedVm;
  readonly #folder: string;
  readonly #source: string;
  #codeCache: ExternalCopy<ArrayBuffer> | undefined;
  #holder: Isolate | undefined;

  constructor(vm: IsolatedVm, folder: string) {
    this.#vm = vm;
    this.#folder = folder;
    this.#source = readFileSync(join(folder, 'guest.js'), 'utf8');
  }

  /** Compiles the guest's script in an isolate, from the code cache if there is one. */
  compile(isolate: Isolate): Script {
    const cachedData = this.#codeCache;
    return isolate.compileScriptSync(this.#source, {
      filename: FILENAME,
      ...(cachedData !== undefined && { cachedData }),
    });
  }

  /**
   * Creates the code cache from an isolate in which an interpreter has started: V8 treats equal text as the same
   * script, so the cache contains every function that was called during the start.
   */
  createCache(isolate: Isolate): void {
    if (this.#codeCache !== undefined) return;
    const options = { filename: FILENAME, produceCachedData: true };
    const script = isolate.compileScriptSync(this.#source, options) as Script & CachedDataResult;
    this.#codeCache = script.cachedData;
    script.release();
  }

  /** Keeps the compiled WebAssembly alive. Call it while an interpreter exists, so that nothing is compiled again. */
  keepWasmCompiled(): void {
    if (this.#holder !== undefined) return;
    this.#holder = new this.#vm.Isolate({ memoryLimit: HOLDER_MEMORY_MIB });
    const context = this.#holder.createContextSync();
    context.global.setSync('code', transferFile(this.#vm, join(this.#folder, 'pyodide.asm.wasm')));
    context.evalSync('globalThis.module = new WebAssembly.Module(code); delete globalThis.code; 0');
  }
}

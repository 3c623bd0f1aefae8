import { fstatSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { CachedDataResult, ExternalCopy, Isolate, Script } from 'isolated-vm';
import type { IsolatedVm } from './realms.ts';

const FILENAME = 'heddle-python.js';

/** Heap of the isolate that keeps code; nothing runs in it. */
const KEEPER_MIB = 64;

/** All of an open file, from its beginning, however often. */
function readDescriptor(descriptor: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(fstatSync(descriptor).size);
  for (let at = 0; at < bytes.length;) {
    const count = readSync(descriptor, bytes, at, bytes.length - at, at);
    if (count === 0) throw new Error('A file of the image became shorter.');
    at += count;
  }
  return bytes;
}

/** A file's bytes as a value that is given into an isolate and not copied there. */
export function transferFile(vm: IsolatedVm, file: string | number): unknown {
  const bytes = typeof file === 'string' ? readFileSync(file) : readDescriptor(file);
  const copy = new vm.ExternalCopy(bytes.buffer as ArrayBuffer, { transferOut: true });
  return copy.copyInto({ transferIn: true, release: true });
}

/**
 * The code of interpreters, compiled once for all of a process. It holds no state of any of them: V8 shares what it made of
 * equal WebAssembly for as long as somebody has it, and that is what a keeper is for.
 */
export class PythonCode {
  readonly #vm: IsolatedVm;
  readonly #folder: string;
  readonly #text: string;
  #cached: ExternalCopy<ArrayBuffer> | undefined;
  #keeper: Isolate | undefined;

  constructor(vm: IsolatedVm, folder: string) {
    this.#vm = vm;
    this.#folder = folder;
    this.#text = readFileSync(join(folder, 'guest.js'), 'utf8');
  }

  /** The guest's script in an isolate. */
  compile(isolate: Isolate): Script {
    const cached = this.#cached;
    return isolate.compileScriptSync(this.#text, {
      filename: FILENAME,
      ...(cached !== undefined && { cachedData: cached }),
    });
  }

  /**
   * Takes what V8 compiled in an isolate in which an interpreter has started: equal text is the same script to it, and by
   * then every function has been compiled that a start calls.
   */
  learn(isolate: Isolate): void {
    if (this.#cached !== undefined) return;
    const options = { filename: FILENAME, produceCachedData: true };
    const script = isolate.compileScriptSync(this.#text, options) as Script & CachedDataResult;
    this.#cached = script.cachedData;
    script.release();
  }

  /** Keeps the compiled interpreter; to be called while one is there. */
  keep(): void {
    if (this.#keeper !== undefined) return;
    this.#keeper = new this.#vm.Isolate({ memoryLimit: KEEPER_MIB });
    const context = this.#keeper.createContextSync();
    context.global.setSync('code', transferFile(this.#vm, join(this.#folder, 'pyodide.asm.wasm')));
    context.evalSync('globalThis.module = new WebAssembly.Module(code); delete globalThis.code; 0');
  }
}

import { fstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { Isolate, Reference } from 'isolated-vm';
import { readObject } from '../failure.ts';
import { randomBinaryString, readMessage } from './bridge.ts';
import { LIMIT_MESSAGES } from './limit-messages.ts';
import { type PythonCode, transferFile } from './python-code.ts';
import type { IsolatedVm, OnGuestMessage, Realm, Realms, RealmUser } from './realms.ts';

/** Maximum memory of an interpreter in MiB; the process starts with it as V8's flag `--wasm-max-mem-pages`. */
const MAX_WASM_MIB = 256;
/** Memory that an interpreter always gets beyond its initial memory, in MiB. */
const MIN_FREE_MIB = 16;
const PAGES_PER_MIB = 16;
/** Heap of the surrounding isolate: in-memory files, the interpreter's JavaScript, values in transit. */
const ISOLATE_MIB = 192;
const BOOT_TIMEOUT_MS = 30_000;
/** Time limit of a start without a snapshot, which takes about a second of CPU time on an idle machine. */
const FIRST_BOOT_TIMEOUT_MS = 240_000;

/** The files and the memory snapshot from which an interpreter starts. */
export interface InterpreterSource {
  readonly folder: string;
  /** The snapshot file, by path or descriptor; default: start without one and make one. */
  readonly snapshot?: string | number | undefined;
  /** The file with an image's packages. */
  readonly site?: number | undefined;
  /** Maximum memory of the interpreter in MiB; default: the maximum of the process. */
  readonly memoryMiB?: number;
}

/** Returns the memory of an interpreter for a requested size: enough for its snapshot, at most the process maximum. */
export function computeMemoryMiB(requestedMiB: number, snapshot: InterpreterSource['snapshot']): number {
  if (snapshot === undefined) return MAX_WASM_MIB;
  const { size } = typeof snapshot === 'string' ? statSync(snapshot) : fstatSync(snapshot);
  return Math.min(MAX_WASM_MIB, Math.max(requestedMiB, Math.ceil(size / 2 ** 20) + MIN_FREE_MIB));
}

type EnterFunction = Reference<(...invocation: (string | number | boolean)[]) => unknown>;

/** Limits all WebAssembly memory that grows from now on. There is one interpreter at a time. */
function limitMemory(memoryMiB: number): void {
  setFlagsFromString(`--wasm-max-mem-pages=${memoryMiB * PAGES_PER_MIB}`);
}

/**
 * Calls `action`, which makes or uses a code cache, with the maximum memory limit, which remains set. V8 accepts a
 * cache only with the flags with which it was made, and the memory limit is one of them.
 */
function withCacheFlags<T>(action: () => T): T {
  limitMemory(MAX_WASM_MIB);
  return action();
}

/** A Python interpreter in its own V8 isolate. */
export class Interpreter implements Realm {
  readonly isShared = true;
  // Always true: with false, the supervisor would start a helper process, which would not start an interpreter sooner.
  readonly isPrebuilt = true;
  readonly memoryMiB: number;
  onGuestMessage: OnGuestMessage = () => undefined;
  /** True if a job has run in it. */
  isUsed = false;
  readonly #isolate: Isolate;
  readonly #enter: EnterFunction;
  #isInterrupted = false;

  constructor(vm: IsolatedVm, source: InterpreterSource, code: PythonCode) {
    this.memoryMiB = source.memoryMiB ?? MAX_WASM_MIB;
    this.#isolate = new vm.Isolate({ memoryLimit: ISOLATE_MIB });
    const context = this.#isolate.createContextSync();
    withCacheFlags(() => code.compile(this.#isolate)).runSync(context);
    limitMemory(this.memoryMiB);
    const connect = context.global.getSync('__heddle', { reference: true });
    const postMessage = new vm.Callback((message: unknown) => this.onGuestMessage(message));
    const files = [
      transferFile(vm, join(source.folder, 'pyodide.asm.wasm')),
      transferFile(vm, join(source.folder, 'python_stdlib.zip')),
      source.snapshot === undefined ? null : transferFile(vm, source.snapshot),
      source.site === undefined ? null : transferFile(vm, source.site),
    ];
    const options = { result: { reference: true } } as const;
    this.#enter = connect.applySync(undefined, [postMessage, ...files], options) as EnterFunction;
    this.#boot(source.snapshot === undefined ? FIRST_BOOT_TIMEOUT_MS : BOOT_TIMEOUT_MS);
    if (source.snapshot !== undefined) withCacheFlags(() => code.createCache(this.#isolate));
    limitMemory(this.memoryMiB);
  }

  get isDisposed(): boolean {
    return this.#isolate.isDisposed && !this.#isInterrupted;
  }

  enter(invocation: (string | number | boolean)[], budgetMs: number): void {
    this.isUsed = true;
    this.#enter.applySync(undefined, invocation, { timeout: budgetMs });
  }

  /** Disposes the interpreter: after an interruption its state is undefined. */
  interrupt(): void {
    this.#isInterrupted = true;
    this.dispose();
  }

  addErrorDetails(json: string): string {
    const error = json.includes('"memory"') ? readObject(json) : undefined;
    if (error?.['phase'] !== 'memory') return json;
    return JSON.stringify({ ...error, message: LIMIT_MESSAGES.OUT_OF_MEMORY(this.memoryMiB) });
  }

  /** Returns a snapshot of the interpreter's memory for other interpreters. */
  makeSnapshot(): Uint8Array {
    return new Uint8Array(this.#call(['snapshot'], BOOT_TIMEOUT_MS) as ArrayBuffer);
  }

  /** Returns the value of Python code as a string; discards its output. */
  evaluate(code: string, budgetMs: number): string {
    return String(this.#call(['evaluate', code], budgetMs));
  }

  /** Returns the bytes of a file in the interpreter's file system. */
  readFile(path: string): Uint8Array {
    return new Uint8Array(this.#call(['read', path], BOOT_TIMEOUT_MS) as ArrayBuffer);
  }

  /** Calls the guest and returns its value. Throws an error that the guest reports. */
  #call(invocation: string[], timeout: number): unknown {
    let error = '';
    this.onGuestMessage = (text) => {
      const message = readMessage(text);
      if (message?.kind === 'random') return randomBinaryString(message.byteCount);
      if (message?.kind === 'error') error = String(text);
      return undefined;
    };
    const value = this.#enter.applySync(undefined, invocation, { timeout, result: { copy: true } });
    this.onGuestMessage = () => undefined;
    if (error !== '') throw new Error(error.slice(0, 4_000));
    return value;
  }

  dispose(): void {
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
  }

  #boot(timeout: number): void {
    let failure = 'no response';
    this.onGuestMessage = (text) => {
      const message = readMessage(text);
      if (message?.kind === 'random') return randomBinaryString(message.byteCount);
      if (message?.kind === 'result') failure = '';
      else if (message?.kind === 'error' || message?.kind === 'log') failure = String(text);
      return undefined;
    };
    this.#enter.applySync(undefined, ['boot'], { timeout });
    this.onGuestMessage = () => undefined;
    if (failure !== '') throw new Error(`The Python interpreter does not start: ${failure.slice(0, 1_000)}`);
  }
}

/** The interpreters of one process, one at a time, since each takes about 100 MB. */
export class Interpreters implements Realms {
  /** Empty: this guest loads no code on demand. */
  readonly chunks: ReadonlyMap<string, string> = new Map();
  readonly #makeInterpreter: (memoryMiB: number) => Interpreter;
  readonly #computeMemoryMiB: (requestedMiB: number) => number;
  /** Memory of the next prebuilt interpreter, in MiB. */
  #nextMemoryMiB: number;
  #interpreter: Interpreter | undefined;
  #key = '';
  #isBusy = false;

  /** Interpreters start from `source`; `memoryMiB` is the memory of those that are made before the first job. */
  constructor(
    makeInterpreter: (source: InterpreterSource) => Interpreter,
    source: InterpreterSource,
    memoryMiB: number,
  ) {
    this.#makeInterpreter = (jobMiB) => makeInterpreter({ ...source, memoryMiB: jobMiB });
    this.#computeMemoryMiB = (requestedMiB) => computeMemoryMiB(requestedMiB, source.snapshot);
    this.#nextMemoryMiB = this.#computeMemoryMiB(memoryMiB);
  }

  /** Returns the interpreter for one job. With an empty key no other job gets it. */
  lease(_user: RealmUser, key: string, requestedMiB: number): Interpreter {
    const interpreter = this.#interpreter;
    this.#nextMemoryMiB = this.#computeMemoryMiB(requestedMiB);
    const isUsable =
      interpreter?.memoryMiB === this.#nextMemoryMiB &&
      (!interpreter.isUsed || (key !== '' && key === this.#key));
    if (!isUsable) this.#drop();
    this.#interpreter ??= this.#makeInterpreter(this.#nextMemoryMiB);
    this.#key = key;
    this.#isBusy = true;
    return this.#interpreter;
  }

  endLease(_user: RealmUser, realm: Interpreter, isTainted: boolean): void {
    this.#isBusy = false;
    if (isTainted || this.#key === '' || realm.isDisposed) this.#drop();
  }

  release(key: string): void {
    if (key === this.#key && !this.#isBusy && this.#interpreter?.isUsed === true) this.#drop();
  }

  prepare(): void {
    if (!this.#isBusy) this.#interpreter ??= this.#makeInterpreter(this.#nextMemoryMiB);
  }

  #drop(): void {
    this.#interpreter?.dispose();
    this.#interpreter = undefined;
    this.#key = '';
  }
}

import { fstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { Isolate, Reference } from 'isolated-vm';
import { readObject } from '../failure.ts';
import { random, readMessage } from './bridge.ts';
import { LIMIT_TEXT } from './limit-text.ts';
import { type PythonCode, transferFile } from './python-code.ts';
import type { IsolatedVm, Post, Realm, Realms, RealmUser } from './realms.ts';

/** The most memory that an interpreter may have, in MiB: what the process begins with as V8's flag `--wasm-max-mem-pages`. */
const WASM_MIB = 256;
/** What an interpreter has in any case beyond the memory that it begins with. */
const ROOM_MIB = 16;
const PAGES_PER_MIB = 16;
/** Heap of the isolate around it: files in memory, the interpreter's JavaScript, values on their way. */
const ISOLATE_MIB = 192;
const BOOT_MS = 30_000;
/** Without a memory to begin with: a second of processor time, on a machine that has nothing else to do. */
const FIRST_BOOT_MS = 240_000;

/** Where an interpreter begins: files of the package, and the memory of one that has already started. */
export interface Origin {
  readonly folder: string;
  /** The file of the memory, by path or descriptor; null: none, one is to be made. */
  readonly snapshot: string | number | null;
  /** The file of an image's packages. */
  readonly site: number | null;
  /** Memory that the interpreter may grow to, in MiB; as much as there may be where nothing is said. */
  readonly memoryMiB?: number;
}

/** The memory of an interpreter that is asked to have so much: enough to begin with, and no more than any may have. */
export function memoryFor(askedMiB: number, snapshot: Origin['snapshot']): number {
  if (snapshot === null) return WASM_MIB;
  const { size } = typeof snapshot === 'string' ? statSync(snapshot) : fstatSync(snapshot);
  return Math.min(WASM_MIB, Math.max(askedMiB, Math.ceil(size / 2 ** 20) + ROOM_MIB));
}

type Enter = Reference<(...entry: (string | number | boolean)[]) => unknown>;

/** Of all memory of WebAssembly that grows from now on: there is one interpreter at a time. */
function limitMemory(mib: number): void {
  setFlagsFromString(`--wasm-max-mem-pages=${mib * PAGES_PER_MIB}`);
}

/** V8 takes code that it kept under the same flags only, among which the limit is. */
function underFlagsOfCode<T>(act: () => T): T {
  limitMemory(WASM_MIB);
  return act();
}

/** A Python interpreter in a V8 isolate of its own. */
export class Interpreter implements Realm {
  readonly isShared = true;
  // Not for its jobs to get another process, with another interpreter's memory.
  readonly isAhead = true;
  readonly memoryMiB: number;
  post: Post = () => undefined;
  /** Whether a job was in it. */
  used = false;
  readonly #isolate: Isolate;
  readonly #enter: Enter;
  #interrupted = false;

  constructor(vm: IsolatedVm, origin: Origin, code: PythonCode) {
    this.memoryMiB = origin.memoryMiB ?? WASM_MIB;
    this.#isolate = new vm.Isolate({ memoryLimit: ISOLATE_MIB });
    const context = this.#isolate.createContextSync();
    underFlagsOfCode(() => code.compile(this.#isolate)).runSync(context);
    limitMemory(this.memoryMiB);
    const connect = context.global.getSync('__heddle', { reference: true });
    const out = new vm.Callback((message: unknown) => this.post(message));
    const files = [
      transferFile(vm, join(origin.folder, 'pyodide.asm.wasm')),
      transferFile(vm, join(origin.folder, 'python_stdlib.zip')),
      origin.snapshot === null ? null : transferFile(vm, origin.snapshot),
      origin.site === null ? null : transferFile(vm, origin.site),
    ];
    this.#enter = connect.applySync(undefined, [out, ...files], { result: { reference: true } }) as Enter;
    this.#boot(origin.snapshot === null ? FIRST_BOOT_MS : BOOT_MS);
    if (origin.snapshot !== null) underFlagsOfCode(() => code.learn(this.#isolate));
    limitMemory(this.memoryMiB);
  }

  get isGone(): boolean {
    return this.#isolate.isDisposed && !this.#interrupted;
  }

  enter(entry: (string | number | boolean)[], budgetMs: number): void {
    this.used = true;
    this.#enter.applySync(undefined, entry, { timeout: budgetMs });
  }

  /** An interpreter that was stopped in the middle of something is of no use to anyone. */
  interrupt(): void {
    this.#interrupted = true;
    this.dispose();
  }

  locate(json: string): string {
    const error = json.includes('"memory"') ? readObject(json) : null;
    if (error?.['phase'] !== 'memory') return json;
    return JSON.stringify({ ...error, message: LIMIT_TEXT.OUT_OF_MEMORY(this.memoryMiB) });
  }

  /** The interpreter's memory, for those that begin with it. */
  makeSnapshot(): Uint8Array {
    return new Uint8Array(this.#make(['snapshot'], BOOT_MS) as ArrayBuffer);
  }

  /** The text of the value of Python code; its output is dropped. */
  evaluate(code: string, budgetMs: number): string {
    return String(this.#make(['evaluate', code], budgetMs));
  }

  /** The bytes of a file in the interpreter's file system. */
  readFile(path: string): Uint8Array {
    return new Uint8Array(this.#make(['read', path], BOOT_MS) as ArrayBuffer);
  }

  /** An entry that has a value. Throws what the guest says of an error. */
  #make(entry: string[], timeout: number): unknown {
    let error = '';
    this.post = (text) => {
      const message = readMessage(text);
      if (message?.kind === 'random') return random(message.bytes);
      if (message?.kind === 'error') error = String(text);
      return undefined;
    };
    const value = this.#enter.applySync(undefined, entry, { timeout, result: { copy: true } });
    this.post = () => undefined;
    if (error !== '') throw new Error(error.slice(0, 4_000));
    return value;
  }

  dispose(): void {
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
  }

  #boot(timeout: number): void {
    let answer = 'no answer';
    this.post = (text) => {
      const message = readMessage(text);
      if (message?.kind === 'random') return random(message.bytes);
      if (message?.kind === 'result') answer = '';
      else if (message?.kind === 'error' || message?.kind === 'log') answer = String(text);
      return undefined;
    };
    this.#enter.applySync(undefined, ['boot'], { timeout });
    this.post = () => undefined;
    if (answer !== '') throw new Error(`The Python interpreter does not start: ${answer.slice(0, 1_000)}`);
  }
}

/** The interpreters of one process: one at a time, since each takes a hundred megabytes. */
export class Interpreters implements Realms {
  /** Its guest has all it needs. */
  readonly parts: ReadonlyMap<string, string> = new Map();
  readonly #make: (memoryMiB: number) => Interpreter;
  readonly #fit: (askedMiB: number) => number;
  /** What the next interpreter has that is made ahead, in MiB. */
  #nextMiB: number;
  #interpreter: Interpreter | null = null;
  #key = '';
  #busy = false;

  /** `origin` is what they begin with, `memoryMiB` what is asked for by jobs that say nothing else. */
  constructor(make: (origin: Origin) => Interpreter, origin: Origin, memoryMiB: number) {
    this.#make = (ownMiB) => make({ ...origin, memoryMiB: ownMiB });
    this.#fit = (askedMiB) => memoryFor(askedMiB, origin.snapshot);
    this.#nextMiB = this.#fit(memoryMiB);
  }

  /** Without a key in one that nobody else gets. */
  lease(_user: RealmUser, key: string, askedMiB: number): Interpreter {
    const known = this.#interpreter;
    this.#nextMiB = this.#fit(askedMiB);
    const fits = known?.memoryMiB === this.#nextMiB && (!known.used || (key !== '' && key === this.#key));
    if (!fits) this.#drop();
    this.#interpreter ??= this.#make(this.#nextMiB);
    this.#key = key;
    this.#busy = true;
    return this.#interpreter;
  }

  giveBack(_user: RealmUser, realm: Interpreter, tainted: boolean): void {
    this.#busy = false;
    if (tainted || this.#key === '' || realm.isGone) this.#drop();
  }

  release(key: string): void {
    if (key === this.#key && !this.#busy && this.#interpreter?.used === true) this.#drop();
  }

  prepare(): void {
    if (!this.#busy) this.#interpreter ??= this.#make(this.#nextMiB);
  }

  #drop(): void {
    this.#interpreter?.dispose();
    this.#interpreter = null;
    this.#key = '';
  }
}

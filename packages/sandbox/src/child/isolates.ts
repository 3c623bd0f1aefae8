import type { Context, ExternalCopy, Isolate, Reference, CachedDataResult, Script } from 'isolated-vm';
import type { RunRequest } from '../protocol.ts';
import { addErrorPosition } from './error-position.ts';
import type { IsolatedVm, OnGuestMessage, Realm, Realms, RealmUser } from './realms.ts';

/** The packages of an image without a snapshot. Each realm loads them at the beginning of its job. */
export class ImageBundle {
  readonly #code: string;
  /** V8's code cache. Replaced when V8 rejects it, for example because of other flags. */
  #cache: ExternalCopy<ArrayBuffer>;

  constructor(vm: IsolatedVm, code: string, cache: Uint8Array) {
    this.#code = code;
    this.#cache = new vm.ExternalCopy(cache.slice().buffer as ArrayBuffer);
  }

  /** Loads the packages within `budgetMs`. */
  load(isolate: Isolate, context: Context, budgetMs: number): void {
    let script = isolate.compileScriptSync(this.#code, { cachedData: this.#cache }) as Script & CacheStatus;
    if (script.cachedDataRejected === true) {
      script = isolate.compileScriptSync(this.#code, { produceCachedData: true });
      this.#cache = script.cachedData ?? this.#cache;
    }
    script.runSync(context, { timeout: budgetMs });
    script.release();
  }
}

interface CacheStatus extends CachedDataResult {
  readonly cachedDataRejected?: boolean;
}

/** Time limit for connecting the guest runtime, in milliseconds. Packages of an image may have tampered with it. */
const BOOT_TIMEOUT_MS = 1_000;

/** The inputs for new isolates. */
export interface IsolateSource {
  readonly vm: IsolatedVm;
  readonly snapshot: ExternalCopy<ArrayBuffer>;
  /** Packages that are not in the snapshot. */
  readonly bundle?: ImageBundle | undefined;
  /** Guest code that is loaded on demand, by name. */
  readonly chunks: ReadonlyMap<string, string>;
}

type EnterFunction = Reference<(...invocation: (string | number | boolean)[]) => void>;

/** A context that has run no user code yet, with the guest runtime connected. */
class ContextRealm implements Realm {
  readonly isolate: GuestIsolate;
  readonly #context: Context;
  readonly #enter: EnterFunction;
  readonly isShared = false;
  isPrebuilt = false;
  onGuestMessage: OnGuestMessage = () => undefined;

  #bundle: ImageBundle | undefined;

  constructor(isolate: GuestIsolate, { vm, bundle }: IsolateSource) {
    this.isolate = isolate;
    this.#bundle = bundle;
    this.#context = isolate.v8Isolate.createContextSync();
    // Called directly, since a script would have to be compiled. The function is that of the guest runtime, which user
    // code cannot replace.
    const boot = this.#context.global.getSync('__heddle', { accessors: true, reference: true }) as Reference;
    // The only host object that the guest gets: a function that takes and returns primitives.
    const postMessage = new vm.Callback((message: unknown) => this.onGuestMessage(message));
    const options = { timeout: BOOT_TIMEOUT_MS, result: { reference: true } } as const;
    this.#enter = boot.applySync(undefined, [postMessage], options) as EnterFunction;
    boot.release();
  }

  get isDisposed(): boolean {
    return this.isolate.v8Isolate.isDisposed;
  }

  get memoryMiB(): number {
    return this.isolate.memoryMiB;
  }

  enter(invocation: (string | number | boolean)[], budgetMs: number): void {
    let remainingMs = budgetMs;
    if (this.#bundle !== undefined) {
      const startMs = performance.now();
      this.#bundle.load(this.isolate.v8Isolate, this.#context, budgetMs);
      this.#bundle = undefined;
      remainingMs = Math.max(1, Math.ceil(budgetMs - (performance.now() - startMs)));
    }
    this.#enter.applySync(undefined, invocation, { timeout: remainingMs });
  }

  interrupt(): void {
    this.isolate.v8Isolate.dispose();
  }

  addErrorDetails(json: string, request: RunRequest): string {
    return addErrorPosition(json, request, this.isolate.v8Isolate);
  }

  release(): void {
    if (this.isolate.v8Isolate.isDisposed) return;
    this.#enter.release();
    this.#context.release();
  }
}

/** A V8 isolate for the jobs of one key, each in its own realm. */
class GuestIsolate {
  readonly v8Isolate: Isolate;
  readonly memoryMiB: number;
  /** Jobs inside the isolate. */
  readonly users = new Set<RealmUser>();
  /** Number of realms made so far. */
  realmCount = 0;
  /** True if the isolate takes no new job; it is disposed after its last one. */
  isRetired = false;
  nextRealm: ContextRealm | undefined;
  readonly #source: IsolateSource;

  constructor(source: IsolateSource, memoryMiB: number) {
    this.#source = source;
    this.memoryMiB = memoryMiB;
    this.v8Isolate = new source.vm.Isolate({ memoryLimit: memoryMiB, snapshot: source.snapshot });
  }

  /** Makes the next realm before its job arrives. */
  prepare(): void {
    if (this.nextRealm !== undefined || this.v8Isolate.isDisposed) return;
    this.nextRealm = this.#createRealm();
  }

  /** Returns the prepared realm, or makes one. */
  takeRealm(): ContextRealm {
    const realm = this.nextRealm;
    if (realm === undefined) return this.#createRealm();
    this.nextRealm = undefined;
    realm.isPrebuilt = true;
    return realm;
  }

  #createRealm(): ContextRealm {
    this.realmCount++;
    return new ContextRealm(this, this.#source);
  }

  dispose(): void {
    if (!this.v8Isolate.isDisposed) this.v8Isolate.dispose();
  }
}

/**
 * Maximum number of realms per isolate. Used realms (0.2 MB each) are freed only with their isolate. A new isolate
 * takes 2 ms; with more realms than this, garbage collection would take ten times as long.
 */
const MAX_REALMS = 96;
const MAX_IDLE_ISOLATES = 16;

/** The isolates of one process by key, with one spare isolate built in advance. */
export class Isolates implements Realms {
  readonly chunks: ReadonlyMap<string, string>;
  readonly #isolatesByKey = new Map<string, GuestIsolate>();
  readonly #source: IsolateSource;
  readonly #memoryMiB: number;
  #spareIsolate: GuestIsolate | undefined;
  #lastUsedIsolate: GuestIsolate | undefined;

  constructor(source: IsolateSource, memoryMiB: number) {
    this.chunks = source.chunks;
    this.#source = source;
    this.#memoryMiB = memoryMiB;
  }

  /** Returns a realm for one job. An empty key gets a new isolate. */
  lease(user: RealmUser, key: string, memoryMiB: number): ContextRealm {
    const mapKey = key === '' ? '' : `${memoryMiB}/${key}`;
    let isolate = key === '' ? undefined : this.#isolatesByKey.get(mapKey);
    if (isolate === undefined || isolate.isRetired || isolate.v8Isolate.isDisposed) {
      isolate = this.#takeIsolate(memoryMiB);
      if (key === '') isolate.isRetired = true;
      else this.#isolatesByKey.set(mapKey, isolate);
    } else if (this.#isolatesByKey.delete(mapKey)) {
      // Insertion order is the order of last use.
      this.#isolatesByKey.set(mapKey, isolate);
    }
    isolate.users.add(user);
    this.#lastUsedIsolate = isolate;
    return isolate.takeRealm();
  }

  endLease(user: RealmUser, realm: ContextRealm, isTainted: boolean): void {
    const { isolate } = realm;
    isolate.users.delete(user);
    if (isTainted || isolate.realmCount >= MAX_REALMS) isolate.isRetired = true;
    if (isolate.v8Isolate.isDisposed)
      for (const otherUser of [...isolate.users]) otherUser.onIsolateDestroyed();
    if (isolate.isRetired && isolate.users.size === 0) isolate.dispose();
    else realm.release();
    this.#evict();
  }

  /** Disposes the isolates of a key once their jobs are done. */
  release(key: string): void {
    for (const [mapKey, isolate] of this.#isolatesByKey) {
      if (mapKey.slice(mapKey.indexOf('/') + 1) === key) this.#drop(mapKey, isolate);
    }
  }

  prepare(): void {
    if (this.#lastUsedIsolate?.isRetired === false) this.#lastUsedIsolate.prepare();
    if (this.#spareIsolate === undefined) {
      this.#spareIsolate = new GuestIsolate(this.#source, this.#memoryMiB);
      this.#spareIsolate.prepare();
    }
  }

  #takeIsolate(memoryMiB: number): GuestIsolate {
    if (this.#spareIsolate === undefined || memoryMiB !== this.#memoryMiB)
      return new GuestIsolate(this.#source, memoryMiB);
    const isolate = this.#spareIsolate;
    this.#spareIsolate = undefined;
    return isolate;
  }

  #evict(): void {
    if (this.#isolatesByKey.size <= MAX_IDLE_ISOLATES) return;
    for (const [mapKey, isolate] of this.#isolatesByKey) {
      if (isolate.users.size > 0) continue;
      this.#drop(mapKey, isolate);
      return;
    }
  }

  #drop(mapKey: string, isolate: GuestIsolate): void {
    this.#isolatesByKey.delete(mapKey);
    isolate.isRetired = true;
    if (isolate.users.size === 0) isolate.dispose();
  }
}

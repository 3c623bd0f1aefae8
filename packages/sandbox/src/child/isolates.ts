import type { Context, ExternalCopy, Isolate, Reference } from 'isolated-vm';
import type { RunRequest } from '../protocol.ts';
import type { ImageBundle } from './bundle.ts';
import { locate } from './locate.ts';
import type { IsolatedVm, Post, Realm, Realms, RealmUser } from './realms.ts';

/** Time for the guest's own plumbing to be connected, which an image's packages may have got at, in milliseconds. */
const BOOT_MS = 1_000;

/** What realms are made of. */
export interface Matter {
  readonly vm: IsolatedVm;
  readonly snapshot: ExternalCopy<ArrayBuffer>;
  /** Packages that the snapshot has not. */
  readonly bundle: ImageBundle | null;
  /** What the snapshot's guest asks for. */
  readonly parts: ReadonlyMap<string, string>;
}

type Enter = Reference<(...entry: (string | number | boolean)[]) => void>;

/** A context that no user code has seen, with the guest's plumbing connected. */
class ContextRealm implements Realm {
  readonly isolate: GuestIsolate;
  readonly #context: Context;
  readonly #enter: Enter;
  readonly isShared = false;
  isAhead = false;
  post: Post = () => undefined;

  #bundle: ImageBundle | null;

  constructor(isolate: GuestIsolate, { vm, bundle }: Matter) {
    this.isolate = isolate;
    this.#bundle = bundle;
    this.#context = isolate.native.createContextSync();
    // Not by a script, which would be compiled; what is called is ours and nobody can replace it.
    const boot = this.#context.global.getSync('__heddle', { accessors: true, reference: true }) as Reference;
    // The one thing of ours that the guest gets: a plain function that takes and gives primitives.
    const out = new vm.Callback((message: unknown) => this.post(message));
    const options = { timeout: BOOT_MS, result: { reference: true } } as const;
    this.#enter = boot.applySync(undefined, [out], options) as Enter;
    boot.release();
  }

  get isGone(): boolean {
    return this.isolate.native.isDisposed;
  }

  get memoryMiB(): number {
    return this.isolate.memoryMiB;
  }

  enter(entry: (string | number | boolean)[], budgetMs: number): void {
    let leftMs = budgetMs;
    if (this.#bundle !== null) {
      const began = performance.now();
      this.#bundle.load(this.isolate.native, this.#context, budgetMs);
      this.#bundle = null;
      leftMs = Math.max(1, Math.ceil(budgetMs - (performance.now() - began)));
    }
    this.#enter.applySync(undefined, entry, { timeout: leftMs });
  }

  interrupt(): void {
    this.isolate.native.dispose();
  }

  locate(json: string, order: RunRequest): string {
    return locate(json, order, this.isolate.native);
  }

  release(): void {
    if (this.isolate.native.isDisposed) return;
    this.#enter.release();
    this.#context.release();
  }
}

/** A V8 isolate that serves the jobs of one key, each in a realm of its own. */
class GuestIsolate {
  readonly native: Isolate;
  readonly memoryMiB: number;
  /** Jobs inside. */
  readonly users = new Set<RealmUser>();
  /** Realms made so far. */
  realms = 0;
  /** Takes no new job and goes with its last one. */
  retired = false;
  ready: ContextRealm | null = null;
  readonly #matter: Matter;

  constructor(matter: Matter, memoryMiB: number) {
    this.#matter = matter;
    this.memoryMiB = memoryMiB;
    this.native = new matter.vm.Isolate({ memoryLimit: memoryMiB, snapshot: matter.snapshot });
  }

  /** Makes the next realm ahead of its job. */
  prepare(): void {
    if (this.ready !== null || this.native.isDisposed) return;
    this.ready = this.#make();
  }

  take(): ContextRealm {
    const realm = this.ready;
    if (realm === null) return this.#make();
    this.ready = null;
    realm.isAhead = true;
    return realm;
  }

  #make(): ContextRealm {
    this.realms++;
    return new ContextRealm(this, this.#matter);
  }

  dispose(): void {
    if (!this.native.isDisposed) this.native.dispose();
  }
}

/**
 * Used realms are not collected but go with their isolate: a new one costs 2 ms, and after a few more realms than this
 * V8 would spend ten times that on marking what they left (at 0.2 MB each).
 */
const MAX_REALMS = 96;
const MAX_IDLE_ISOLATES = 16;

/** The isolates of one process, by key, with a spare one built ahead. */
export class Isolates implements Realms {
  readonly parts: ReadonlyMap<string, string>;
  readonly #byKey = new Map<string, GuestIsolate>();
  readonly #matter: Matter;
  readonly #memoryMiB: number;
  #spare: GuestIsolate | null = null;
  #last: GuestIsolate | null = null;

  constructor(matter: Matter, memoryMiB: number) {
    this.parts = matter.parts;
    this.#matter = matter;
    this.#memoryMiB = memoryMiB;
  }

  /** Without a key in an isolate of its own. */
  lease(user: RealmUser, key: string, memoryMiB: number): ContextRealm {
    const name = key === '' ? '' : `${memoryMiB}/${key}`;
    let isolate = key === '' ? undefined : this.#byKey.get(name);
    if (isolate === undefined || isolate.retired || isolate.native.isDisposed) {
      isolate = this.#fresh(memoryMiB);
      if (key === '') isolate.retired = true;
      else this.#byKey.set(name, isolate);
    } else if (this.#byKey.delete(name)) {
      // Insertion order is the order of last use.
      this.#byKey.set(name, isolate);
    }
    isolate.users.add(user);
    this.#last = isolate;
    return isolate.take();
  }

  giveBack(user: RealmUser, realm: ContextRealm, tainted: boolean): void {
    const { isolate } = realm;
    isolate.users.delete(user);
    if (tainted || isolate.realms >= MAX_REALMS) isolate.retired = true;
    if (isolate.native.isDisposed) for (const other of [...isolate.users]) other.lost();
    if (isolate.retired && isolate.users.size === 0) isolate.dispose();
    else realm.release();
    this.#evict();
  }

  /** Drops them once their jobs are done. */
  release(key: string): void {
    for (const [name, isolate] of this.#byKey) {
      if (name.slice(name.indexOf('/') + 1) === key) this.#drop(name, isolate);
    }
  }

  prepare(): void {
    if (this.#last !== null && !this.#last.retired) this.#last.prepare();
    if (this.#spare === null) {
      this.#spare = new GuestIsolate(this.#matter, this.#memoryMiB);
      this.#spare.prepare();
    }
  }

  #fresh(memoryMiB: number): GuestIsolate {
    if (this.#spare === null || memoryMiB !== this.#memoryMiB)
      return new GuestIsolate(this.#matter, memoryMiB);
    const isolate = this.#spare;
    this.#spare = null;
    return isolate;
  }

  #evict(): void {
    if (this.#byKey.size <= MAX_IDLE_ISOLATES) return;
    for (const [name, isolate] of this.#byKey) {
      if (isolate.users.size > 0) continue;
      this.#drop(name, isolate);
      return;
    }
  }

  #drop(name: string, isolate: GuestIsolate): void {
    this.#byKey.delete(name);
    isolate.retired = true;
    if (isolate.users.size === 0) isolate.dispose();
  }
}

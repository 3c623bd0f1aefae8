import type { CachedDataResult, Context, ExternalCopy, Isolate, Script } from 'isolated-vm';
import type { IsolatedVm } from './realms.ts';

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
    let script = isolate.compileScriptSync(this.#code, { cachedData: this.#cache }) as Script & Rejectable;
    if (script.cachedDataRejected === true) {
      script = isolate.compileScriptSync(this.#code, { produceCachedData: true });
      this.#cache = script.cachedData ?? this.#cache;
    }
    script.runSync(context, { timeout: budgetMs });
    script.release();
  }
}

interface Rejectable extends CachedDataResult {
  readonly cachedDataRejected?: boolean;
}

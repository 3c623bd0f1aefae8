import type { CachedDataResult, Context, ExternalCopy, Isolate, Script } from 'isolated-vm';
import type { IsolatedVm } from './realms.ts';

/** The packages of an image that is no snapshot: they are loaded in each realm, as the first thing its job does. */
export class ImageBundle {
  readonly #code: string;
  /** What V8 keeps of compiling the code; made anew where V8 does not take it, as with other flags. */
  #cache: ExternalCopy<ArrayBuffer>;

  constructor(vm: IsolatedVm, code: string, cache: Uint8Array) {
    this.#code = code;
    this.#cache = new vm.ExternalCopy(cache.slice().buffer as ArrayBuffer);
  }

  /** Loads the packages, for at most `budgetMs`. */
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

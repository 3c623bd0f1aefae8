import type { Engine, EngineOptions } from '@heddle/engine';
import type { RuntimeUnderTest } from '../runtime-under-test.ts';

/** Opens engines one after another on the same stores; each is closed before the next opens. */
export class EngineSequence {
  readonly runtime: RuntimeUnderTest;
  #engine: Engine | undefined;

  constructor(runtime: RuntimeUnderTest) {
    this.runtime = runtime;
  }

  async openNext(options: EngineOptions = {}): Promise<Engine> {
    await this.#engine?.close({ graceMs: 0 });
    this.#engine = await this.runtime.open(options);
    return this.#engine;
  }
}

import type { Engine, EngineOptions } from '@heddle/engine';
import type { RuntimeUnderTest } from '../suite.ts';

/** One engine after the other on the same place: the second is closed before the third opens, and so on. */
export class Succession {
  readonly runtime: RuntimeUnderTest;
  private engine: Engine | undefined;

  constructor(runtime: RuntimeUnderTest) {
    this.runtime = runtime;
  }

  async next(options: EngineOptions = {}): Promise<Engine> {
    await this.engine?.close({ graceMs: 0 });
    this.engine = await this.runtime.open(options);
    return this.engine;
  }
}

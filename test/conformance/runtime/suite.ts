import type { Engine, EngineOptions } from '@heddle/engine';

/** What a runtime brings to its conformance suite. */
export interface RuntimeUnderTest {
  /** A new engine on the same place as the test's other engines; closed by the suite. */
  open(options?: EngineOptions): Promise<Engine>;
  /** True: what one engine recorded is there for the next one. */
  durable: boolean;
}

/** Makes the runtime of one test: a place of its own. */
export type MakeRuntime = () => RuntimeUnderTest;

import type { Engine, EngineOptions } from '@heddle/engine';

/** What a runtime brings to its conformance suite. */
export interface RuntimeUnderTest {
  /** A new engine on the same place as the test's other engines; closed by the suite. */
  open(options?: EngineOptions): Promise<Engine>;
  /** Asks for the cancel of a run while no engine is open. */
  askForCancel?(runId: string): Promise<void>;
}

/** Has `clean` called when the runtime is needed no more; the last one that was asked for comes first. */
export type WhenDone = (clean: () => Promise<void> | void) => void;

/** Makes the runtime of one test, or of as long as `whenDone` says: a place of its own. */
export type MakeRuntime = (whenDone?: WhenDone) => RuntimeUnderTest;

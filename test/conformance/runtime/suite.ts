import type { Engine, EngineOptions } from '@heddle/engine';

/** A runtime as the conformance suite uses it. */
export interface RuntimeUnderTest {
  /** Opens an engine on the same stores as the test's other engines; the suite closes it. */
  open(options?: EngineOptions): Promise<Engine>;
  /** Requests the cancel of a run while no engine is open. */
  askForCancel?(runId: string): Promise<void>;
}

/** Registers `clean`, called after the use of the runtime, in reverse order of registration. */
export type WhenDone = (clean: () => Promise<void> | void) => void;

/** Returns a runtime with new stores, for one test, or until `whenDone` calls its functions. */
export type MakeRuntime = (whenDone?: WhenDone) => RuntimeUnderTest;

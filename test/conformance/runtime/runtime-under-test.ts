import type { Engine, EngineOptions } from '@heddle/engine';

/** A runtime as the conformance suite uses it. */
export interface RuntimeUnderTest {
  /** Opens an engine on the same stores as the test's other engines. The runtime closes it after use. */
  open(options?: EngineOptions): Promise<Engine>;
  /** Requests the cancellation of a run while no engine is open. */
  requestCancel?(runId: string): Promise<void>;
}

/** Registers a function to call when the runtime is no longer used. Functions are called in reverse order. */
export type RegisterCleanup = (clean: () => Promise<void> | void) => void;

/**
 * Returns a runtime with new stores. It registers a function with `registerCleanup` that closes its engines. By
 * default, they are closed after the test.
 */
export type MakeRuntime = (registerCleanup?: RegisterCleanup) => RuntimeUnderTest;

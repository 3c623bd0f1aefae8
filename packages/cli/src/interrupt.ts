import { EXIT } from './exit-code.ts';

/** A Ctrl-C within this time is the same press: the terminal and a package runner may both send it. */
const SAME_PRESS_MS = 200;

/** Clock and exit of the process; tests pass their own. */
export interface InterruptDependencies {
  now(): number;
  kill(): void;
}

export const PROCESS_DEPENDENCIES: InterruptDependencies = {
  now: () => performance.now(),
  kill: () => process.exit(EXIT.killed),
};

/**
 * Handles Ctrl-C: the first press calls `cancel`, the second exits with 130. Returns a function that stops handling.
 * `signals`: the signals that count as a press.
 */
export function onInterrupt(
  cancel: () => void,
  dependencies: InterruptDependencies = PROCESS_DEPENDENCIES,
  signals: readonly NodeJS.Signals[] = ['SIGINT'],
): () => void {
  let firstPressMs: number | undefined;
  const onSignal = (): void => {
    if (firstPressMs === undefined) {
      firstPressMs = dependencies.now();
      cancel();
    } else if (dependencies.now() - firstPressMs > SAME_PRESS_MS) dependencies.kill();
  };
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

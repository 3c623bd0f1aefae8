import { EXIT } from './exit-code.ts';

/** A Ctrl-C within this time is the same press: the terminal and a package runner may both send it. */
const SAME_PRESS_MS = 200;

/** Clock and exit of the process; tests pass their own. */
export interface InterruptParts {
  now(): number;
  kill(): void;
}

export const PROCESS: InterruptParts = {
  now: () => performance.now(),
  kill: () => process.exit(EXIT.killed),
};

/**
 * Handles Ctrl-C: the first press calls `cancel`, the second exits with 130. Returns a function that stops handling.
 * `signals`: the signals that count as a press.
 */
export function onInterrupt(
  cancel: () => void,
  parts: InterruptParts = PROCESS,
  signals: readonly NodeJS.Signals[] = ['SIGINT'],
): () => void {
  let firstMs: number | undefined;
  const press = (): void => {
    if (firstMs === undefined) {
      firstMs = parts.now();
      cancel();
    } else if (parts.now() - firstMs > SAME_PRESS_MS) parts.kill();
  };
  for (const signal of signals) process.on(signal, press);
  return () => {
    for (const signal of signals) process.off(signal, press);
  };
}

import { EXIT } from './exit-code.ts';

/** One Ctrl-C may arrive twice: from the terminal, and again from a package runner in between. */
const SAME_PRESS_MS = 200;

/** What a press of Ctrl-C is told by and does; tests bring their own. */
export interface InterruptParts {
  now(): number;
  kill(): void;
}

export const PROCESS: InterruptParts = {
  now: () => performance.now(),
  kill: () => process.exit(EXIT.killed),
};

/**
 * Listens for Ctrl-C: the first press calls `cancel`, a second one kills the process (130). The returned function stops
 * listening. `signals`: what counts as a press.
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

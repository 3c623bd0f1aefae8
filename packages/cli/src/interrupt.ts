import { EXIT } from './exit-code.ts';

/** One Ctrl-C may arrive twice: from the terminal, and again from a package runner in between. */
const SAME_PRESS_MS = 200;

/**
 * Listens for Ctrl-C: the first press calls `cancel`, a second one kills the process (130). The returned function stops
 * listening.
 */
export function onInterrupt(cancel: () => void): () => void {
  let firstMs: number | undefined;
  const press = (): void => {
    const nowMs = performance.now();
    if (firstMs === undefined) {
      firstMs = nowMs;
      cancel();
    } else if (nowMs - firstMs > SAME_PRESS_MS) process.exit(EXIT.killed);
  };
  process.on('SIGINT', press);
  return () => process.off('SIGINT', press);
}

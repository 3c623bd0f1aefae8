/** Calls `callback` every `ms` milliseconds, without keeping the process alive. Returns a function that stops it. */
export function repeat(ms: number, callback: () => void): () => void {
  const timer = setInterval(callback, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** Reports an error as a warning of the process. */
export function warn(error: unknown): void {
  process.emitWarning(
    error instanceof Error ? (error.stack ?? error.message) : String(error),
    'HeddleWarning',
  );
}

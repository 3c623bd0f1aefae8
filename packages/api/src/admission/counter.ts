/** Counts by subject. */
export interface Counter {
  /** Adds one and returns a function that subtracts it again; undefined when `subject` has reached `limit`. */
  increment(subject: string, limit: number): (() => void) | undefined;
}

export function createCounter(): Counter {
  const counts = new Map<string, number>();
  return {
    increment(subject, limit) {
      const count = counts.get(subject) ?? 0;
      if (count >= limit) return undefined;
      counts.set(subject, count + 1);
      return once(() => {
        const remaining = (counts.get(subject) ?? 1) - 1;
        if (remaining === 0) counts.delete(subject);
        else counts.set(subject, remaining);
      });
    },
  };
}

/** Returns a function that calls `run` the first time, and does nothing afterwards. */
export function once(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) run();
    isDone = true;
  };
}

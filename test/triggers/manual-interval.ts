/**
 * Returns a `repeat` whose work runs only when the test calls `tick`, and only if `isIncluded` returns true for its
 * interval.
 */
export function createManualInterval(isIncluded: (ms: number) => boolean = () => true): {
  repeat: (ms: number, callback: () => void) => () => void;
  tick: () => void;
} {
  const callbacks = new Set<() => void>();
  return {
    repeat(ms, callback) {
      if (isIncluded(ms)) callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    tick() {
      for (const callback of callbacks) callback();
    },
  };
}

import type { RuntimeDependencies } from './runtime-dependencies.ts';

/** Minimum time between two prunings of a store by this process. */
export const PRUNE_INTERVAL_MS = 3_600_000;

/** A store from which old rows are removed. */
interface Prunable {
  prune(nowMs: number): Promise<void> | void;
}

const lastPrunedMs = new WeakMap<Prunable, number>();

/** Prunes a store in the background, at most once an hour in this process. */
export function pruneHourly(
  { onError }: Pick<RuntimeDependencies, 'onError'>,
  store: Prunable,
  nowMs: number,
): void {
  if (nowMs - (lastPrunedMs.get(store) ?? 0) < PRUNE_INTERVAL_MS) return;
  lastPrunedMs.set(store, nowMs);
  void (async () => store.prune(nowMs))().catch((error: unknown) => onError(error, undefined));
}

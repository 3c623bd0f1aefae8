import { Context } from '@temporalio/activity';
import type { Clock } from '@heddle/core';
import { NativeConnection, Worker } from '@temporalio/worker';

/** Drives the timers of runs on `queue` with `clock` until the returned function is called. */
export async function serveClock(
  clock: Clock,
  { address, namespace, queue }: { address: string; namespace: string; queue: string },
): Promise<() => Promise<void>> {
  const connection = await NativeConnection.connect({ address });
  const closing = new AbortController();
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: `${queue}-clock`,
    activities: { until: (dueMs: number) => waitUntil(clock, dueMs, closing.signal) },
  });
  const running = worker.run();
  return async () => {
    closing.abort();
    worker.shutdown();
    await running;
    await connection.close();
  };
}

function waitUntil(clock: Clock, dueMs: number, closing: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([closing, Context.current().cancellationSignal]);
  // A test clock does not fire timers whose time has already passed.
  if (dueMs <= clock.now()) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const cancel = clock.at(dueMs, resolve);
    signal.addEventListener('abort', () => {
      cancel();
      reject(signal.reason as Error);
    });
  });
}

import { randomUUID } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { temporal } from '@heddle/temporal';
import { onTestFinished } from 'vitest';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { Context } from '@temporalio/activity';
import type { RuntimeUnderTest, RegisterCleanup } from '../conformance/runtime/runtime-under-test.ts';
import { createDataFolder } from '../support/data-folder.ts';

let testClockBundlePath: Promise<string> | undefined;

/** Returns a factory of engines that share a server, a queue and a data folder. Each has a worker in this process. */
export function createRuntime(
  { address, namespace }: { address: string; namespace: string },
  registerCleanup: RegisterCleanup = onTestFinished,
): RuntimeUnderTest {
  const queue = `test-${randomUUID()}`;
  const data = createDataFolder(registerCleanup);
  const engines: Engine[] = [];
  let clockWorker: { clock: Clock; stop: () => Promise<void> } | undefined;
  const useClock = async (clock: Clock): Promise<void> => {
    if (clockWorker?.clock === clock) return;
    await clockWorker?.stop();
    clockWorker = { clock, stop: await startClockWorker(clock, { address, namespace, queue }) };
  };
  registerCleanup(async () => {
    for (const engine of engines) await engine.close({ graceMs: 0 });
    await clockWorker?.stop();
  });
  return {
    open: async (options = {}) => {
      const { clock } = options;
      if (clock) await useClock(clock);
      const bundlePath = clock && (await (testClockBundlePath ??= bundleTestClockWorkflow()));
      const engine = await createEngine({
        ...options,
        runtime: temporal({
          address,
          namespace,
          taskQueue: queue,
          data,
          ...(bundlePath !== undefined && { bundlePath }),
        }),
      });
      engines.push(engine);
      return engine;
    },
  };
}

/** Bundles the workflow whose timers use the clock of a test. Returns the path of the bundle. */
async function bundleTestClockWorkflow(): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('test-clock-workflow.ts', import.meta.url)),
    logger: new DefaultLogger('WARN'),
  });
  const path = join(await mkdtemp(join(tmpdir(), 'heddle-test-clock-')), 'bundle.js');
  await writeFile(path, code);
  return path;
}

/**
 * Starts a worker with the activity that waits for `clock`, for the timers of runs on `queue`. Returns a function that
 * stops it.
 */
async function startClockWorker(
  clock: Clock,
  { address, namespace, queue }: { address: string; namespace: string; queue: string },
): Promise<() => Promise<void>> {
  const connection = await NativeConnection.connect({ address });
  const closeController = new AbortController();
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: `${queue}-clock`,
    activities: { waitUntil: (dueMs: number) => waitUntil(clock, dueMs, closeController.signal) },
  });
  const workerRun = worker.run();
  return async () => {
    closeController.abort();
    worker.shutdown();
    await workerRun;
    await connection.close();
  };
}

function waitUntil(clock: Clock, dueMs: number, closeSignal: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([closeSignal, Context.current().cancellationSignal]);
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

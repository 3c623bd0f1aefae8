// A worker that a test kills: `node worker.ts OPTIONS`, where OPTIONS is WorkerOptions as JSON. It prints `ready` when
// it polls, and prints its errors. It ends when its standard input ends, so that it never outlives its parent.
import { createEngine, isEngineError } from '@heddle/engine';
import { temporal } from '@heddle/temporal';
import { setTimeout as delay } from 'node:timers/promises';
import { effectExecutors } from './blocks.ts';
import type { WorkerOptions } from './fleet.ts';

const RETRY_MS = 250;

const { effectServerUrl, ...options } = JSON.parse(process.argv[2] ?? '') as WorkerOptions;

process.stdin.resume().once('close', () => process.exit());

const printError = (error: unknown): void => {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stdout.write(`${text.replaceAll('\n', ' | ')}\n`);
};

/** Opens a worker. Retries while the server is down. */
async function openWorker(): Promise<void> {
  try {
    await createEngine({
      runtime: temporal(options),
      blocks: effectExecutors(effectServerUrl),
      sandbox: { maxProcesses: 1 },
      onError: printError,
    });
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'RUNTIME_UNREACHABLE') throw error;
    await delay(RETRY_MS);
    await openWorker();
  }
}

await openWorker();
process.stdout.write('ready\n');

import type { HeddleWorker } from '@heddle/temporal';
import { EXIT } from '../exit-code.ts';
import { onInterrupt, PROCESS_DEPENDENCIES } from '../interrupt.ts';
import type { Io } from '../io.ts';
import { sanitize, styleFor } from '../render/style.ts';

/** Options for stopping a process. */
export interface StopOptions {
  /** Reports that the process is ready. Called after the signal handlers are set, because a signal may follow. */
  onReady: () => void;
  /** Grace period of running blocks, in milliseconds. */
  drainMs: number;
  /** Resolves with a reason if something else that the process needs has failed. */
  failure?: Promise<string>;
}

/** Time for cancelled blocks, and then for any other remaining work, to end. */
const KILL_TIMEOUT_MS = 5000;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Waits for SIGTERM, Ctrl-C or a failure, then stops the worker gracefully. Returns the exit code. A second signal
 * kills the process, with exit code 130.
 */
export async function runUntilStopped(
  io: Io,
  worker: Pick<HeddleWorker, 'finished' | 'stop'>,
  { onReady, drainMs, failure }: StopOptions,
): Promise<number> {
  const style = styleFor(io.stderr);
  const { promise: stopSignal, resolve: stop } = Promise.withResolvers<undefined>();
  const removeHandlers = onInterrupt(() => stop(undefined), PROCESS_DEPENDENCIES, SIGNALS);
  try {
    onReady();
    const reason = await Promise.race([stopSignal, failureOf(worker), ...(failure ? [failure] : [])]);
    io.stderr.write(
      reason === undefined
        ? `${style.yellow('○')} Stopping: running blocks have ${drainMs / 1000} s to finish ${style.dim('(press again to kill)')}\n`
        : `${style.red('✗')} ${sanitize(reason)}\n`,
    );
    await worker.stop({ drainMs: reason === undefined ? drainMs : 0, killMs: KILL_TIMEOUT_MS });
    exitLater(reason === undefined ? EXIT.completed : EXIT.failed);
    return reason === undefined ? EXIT.completed : EXIT.failed;
  } finally {
    removeHandlers();
  }
}

async function failureOf({ finished }: Pick<HeddleWorker, 'finished'>): Promise<string> {
  try {
    await finished;
    return 'The worker has stopped unexpectedly.';
  } catch (error) {
    return `The worker has failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Exits the process even if abandoned work keeps it alive. */
function exitLater(exitCode: number): void {
  setTimeout(() => process.exit(exitCode), KILL_TIMEOUT_MS).unref();
}

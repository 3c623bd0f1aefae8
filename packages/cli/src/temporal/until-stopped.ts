import type { HeddleWorker } from '@heddle/temporal';
import { EXIT } from '../exit-code.ts';
import { onInterrupt, PROCESS } from '../interrupt.ts';
import type { Io } from '../io.ts';
import { safe, styleFor } from '../render/style.ts';

/** How the work of a process ends. */
export interface Ending {
  /** Says that it is ready, once signals are listened to: whoever reads it may send one at once. */
  ready: () => void;
  /** Milliseconds that blocks may go on for once the end is asked for. */
  drainMs: number;
  /** Resolves, with the reason, when the worker has nothing to work for any more. */
  broken?: Promise<string>;
}

/** Blocks that do not listen to being stopped are left behind after so much more. */
const KILL_MS = 5000;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Waits for SIGTERM or Ctrl-C, or until the work cannot go on, ends it in order, and gives the exit code. A second signal
 * ends the process at once (130).
 */
export async function untilStopped(
  io: Io,
  worker: Pick<HeddleWorker, 'finished' | 'stop'>,
  { ready, drainMs, broken }: Ending,
): Promise<number> {
  const style = styleFor(io.stderr);
  const { promise: asked, resolve: ask } = Promise.withResolvers<undefined>();
  const forget = onInterrupt(() => ask(undefined), PROCESS, SIGNALS);
  try {
    ready();
    const reason = await Promise.race([asked, failureOf(worker), ...(broken ? [broken] : [])]);
    io.stderr.write(
      reason === undefined
        ? `${style.yellow('○')} Stopping: blocks that run have ${drainMs / 1000} s ${style.dim('(again to end at once)')}\n`
        : `${style.red('✗')} ${safe(reason)}\n`,
    );
    await worker.stop({ drainMs: reason === undefined ? drainMs : 0, killMs: KILL_MS });
    leave(reason === undefined ? EXIT.completed : EXIT.failed);
    return reason === undefined ? EXIT.completed : EXIT.failed;
  } finally {
    forget();
  }
}

async function failureOf({ finished }: Pick<HeddleWorker, 'finished'>): Promise<string> {
  try {
    await finished;
    return 'The worker has ended by itself.';
  } catch (error) {
    return `The worker cannot go on: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** What hangs and was left behind must not keep the process. */
function leave(exit: number): void {
  setTimeout(() => process.exit(exit), KILL_MS).unref();
}

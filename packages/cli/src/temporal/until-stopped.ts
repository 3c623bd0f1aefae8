import { setTimeout as delay } from 'node:timers/promises';
import { EXIT } from '../exit-code.ts';
import { onInterrupt, PROCESS } from '../interrupt.ts';
import type { Io } from '../io.ts';
import { styleFor } from '../render/style.ts';

/** Work that goes on until somebody ends it. */
export interface Served {
  /** Milliseconds that blocks may go on for once the end is asked for. */
  graceMs: number;
  stop: (graceMs: number) => Promise<void>;
  /** Resolves, with the reason, when it cannot go on by itself. */
  broken: Promise<string>;
}

/** Blocks that do not listen to being stopped are left behind after the grace and this. */
const SLACK_MS = 10_000;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Waits for SIGTERM or Ctrl-C, or for the work to break, ends it in order, and gives the exit code. A second signal ends the process at once (130). */
export async function untilStopped(io: Io, { graceMs, stop, broken }: Served): Promise<number> {
  const style = styleFor(io.stderr);
  const { promise: asked, resolve: ask } = Promise.withResolvers<undefined>();
  const forget = onInterrupt(() => ask(undefined), PROCESS, SIGNALS);
  try {
    const reason = await Promise.race([asked, broken]);
    const line =
      reason === undefined
        ? `${style.yellow('○')} Stopping: blocks that run have ${graceMs / 1000} s ${style.dim('(again to end at once)')}`
        : `${style.red('✗')} ${reason}`;
    io.stderr.write(`${line}\n`);
    const stopped = await within(stop(graceMs), graceMs + SLACK_MS);
    if (!stopped) {
      io.stderr.write(`${style.yellow('!')} Not all blocks have stopped. Other workers run them again.\n`);
      process.exit(EXIT.failed);
    }
    return reason === undefined ? EXIT.completed : EXIT.failed;
  } finally {
    forget();
  }
}

async function within(work: Promise<void>, ms: number): Promise<boolean> {
  const done = new AbortController();
  try {
    const late = delay(ms, false, { signal: done.signal });
    late.catch(() => undefined);
    return await Promise.race([work.then(() => true), late]);
  } finally {
    done.abort();
  }
}

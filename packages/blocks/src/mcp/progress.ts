import type { Progress } from '@modelcontextprotocol/client';
import type { Context } from '../define.ts';

/** Reports that follow sooner are left out: a server may send any number of them. */
const INTERVAL_MS = 100;
const MAX_MESSAGE_CHARS = 500;

/** Returns what emits the progress that a server reports about the call `id`. */
export function progressReporter(context: Context, id: string): (progress: Progress) => void {
  let lastMs: number | undefined;
  return ({ progress, total, message }) => {
    const nowMs = context.clock.now();
    if (lastMs !== undefined && nowMs - lastMs < INTERVAL_MS) return;
    lastMs = nowMs;
    const shown = message?.slice(0, MAX_MESSAGE_CHARS).toWellFormed();
    context.emit({
      ...{ type: 'progress', id, progress },
      ...(total !== undefined && { total }),
      ...(shown !== undefined && { message: shown }),
    });
  };
}

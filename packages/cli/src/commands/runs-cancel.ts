import { withEngine } from '../engine-session.ts';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { ELSEWHERE, orElsewhere } from '../owner.ts';
import { styleFor } from '../render/style.ts';
import { findRunId, shortId } from '../run-id.ts';
import { UsageError } from '../usage-error.ts';
import { withVisitor } from '../with-visitor.ts';

export interface CancelOptions {
  reason?: string;
  json: boolean;
  data: string;
}

const ANSWER_MS = 10_000;

/** Cancels a run: itself when nobody runs the folder, else by asking the process that does. */
export async function cancelRun(io: Io, given: string, options: CancelOptions): Promise<number> {
  const { data } = options;
  const runId = await withVisitor(data, (visitor) => findRunId(visitor, given, data));
  const here = await orElsewhere(() =>
    withEngine(io, { data, env: {}, takeUp: false }, (engine) => engine.cancel(runId, options.reason)),
  );
  const cancelled = here === ELSEWHERE ? await ask(runId, options) : here;
  const run = await withVisitor(data, (visitor) => visitor.getRun(runId));
  if (!cancelled) throw new UsageError(`Run ${shortId(runId)} had ended before: it is ${run.status}.`);
  if (options.json) writeJson(io, { data: run });
  else io.stderr.write(`${styleFor(io.stderr).yellow('○')} Cancelled run ${shortId(runId)}.\n`);
  return EXIT.completed;
}

async function ask(runId: string, { data, reason }: CancelOptions): Promise<boolean> {
  const payload = reason === undefined ? {} : { reason };
  const answer = await withVisitor(data, (visitor) =>
    visitor.ask({ runId, kind: 'cancel', payload }, ANSWER_MS),
  );
  if (answer.status === 'rejected') throw new UsageError(answer.message);
  if (answer.status === 'waiting') {
    throw new UsageError(
      'The process that runs the folder has not answered yet. The request stays: it, or the next one, will cancel the run.',
    );
  }
  return (answer.value as { cancelled?: boolean }).cancelled === true;
}

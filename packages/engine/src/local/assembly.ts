import PQueue from 'p-queue';
import { callChild } from './children.ts';
import type { Children } from './children.ts';
import type { PerformerParts } from './performer-parts.ts';
import { reachOf } from './reach.ts';
import { ActiveRun } from './run.ts';
import type { RestEvent, RunParts } from './run-parts.ts';
import type { RuntimeParts } from './runtime-parts.ts';
import { randomToken } from './tokens.ts';

/** Lets at most `perRun` pieces of work of one run in at once, and of all runs as many as `all` does. */
export function gateOf(all: PQueue, perRun: number): PerformerParts['gate'] {
  let queue: PQueue | undefined;
  // An abort gives the place in the queue free, whether the work has begun or not.
  return (work, signal) => {
    queue ??= new PQueue({ concurrency: perRun });
    return queue.add(() => all.add(work, { signal }), { signal });
  };
}

/** A run with everything that its blocks reach. */
export function assembleRun(
  children: Children,
  parts: RuntimeParts,
  of: Pick<RunParts, 'header' | 'plan'> & {
    engineQueue: PQueue;
    moved(run: ActiveRun, event: RestEvent): void;
  },
): ActiveRun {
  const { header, plan } = of;
  const { stores, values, clock, env, keeper } = parts;
  const gate = gateOf(of.engineQueue, parts.concurrency.run);
  const run: ActiveRun = new ActiveRun({
    header,
    plan,
    store: stores.runs,
    clock,
    values,
    env,
    gate,
    token: randomToken,
    keeper,
    moved: (event) => of.moved(run, event),
    ...reachOf(parts, {
      header,
      plan,
      replica: () => run.replica,
      gate,
      child: (request, place, job) => {
        job.waitForChild();
        return callChild(children, { parent: run, place, request, signal: job.signal }, job.attempt);
      },
    }),
    report: (error, runId) => parts.report(error, runId),
  });
  return run;
}

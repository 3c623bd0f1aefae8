import PQueue from 'p-queue';
import { isHeldElsewhere } from '../store/leases.ts';
import { callChild } from './children.ts';
import type { Children } from './children.ts';
import type { PerformerParts } from './performer-parts.ts';
import { reachOf } from './reach.ts';
import { ActiveRun } from './run.ts';
import type { RestEvent, RunParts } from './run-parts.ts';
import type { RuntimeParts } from './runtime-parts.ts';
import { randomToken } from './tokens.ts';

/** Lets at most `perRun` pieces of work of one run in at once, and of all runs as many as `all` does; `before` comes before each. */
export function gateOf(all: PQueue, perRun: number, before?: () => void): PerformerParts['gate'] {
  let queue: PQueue | undefined;
  // An abort gives the place in the queue free, whether the work has begun or not.
  return (work, signal) => {
    queue ??= new PQueue({ concurrency: perRun });
    const begin = before
      ? () => {
          before();
          return work();
        }
      : work;
    return queue.add(() => all.add(begin, { signal }), { signal });
  };
}

/** A run with everything that its blocks reach. */
export function assembleRun(
  children: Children,
  parts: RuntimeParts,
  of: Pick<RunParts, 'header' | 'plan' | 'store' | 'environment'> & {
    engineQueue: PQueue;
    /** Called before something is begun outside. */
    alert: (() => void) | undefined;
    moved(run: ActiveRun, event: RestEvent): void;
  },
): ActiveRun {
  const { header, plan, store, environment } = of;
  const { values, clock } = parts;
  const gate = gateOf(of.engineQueue, parts.concurrency.run, of.alert);
  const run: ActiveRun = new ActiveRun({
    header,
    plan,
    store,
    clock,
    values,
    environment,
    gate,
    token: randomToken,
    moved: (event) => of.moved(run, event),
    ...reachOf(parts, {
      header,
      plan,
      environment,
      replica: () => run.replica,
      gate,
      child: (request, place, job) => {
        job.waitForChild();
        const { signal, attempt } = job;
        return callChild(children, { parent: run, place, attempt, request, signal });
      },
    }),
    report: (error, runId) => {
      // A process that has lost its runs says so once, and not of each.
      if (!isHeldElsewhere(error, runId)) parts.report(error, runId);
    },
  });
  return run;
}

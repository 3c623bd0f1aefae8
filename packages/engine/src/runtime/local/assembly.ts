import type PQueue from 'p-queue';
import { isHeldByOther } from '../../store/leases.ts';
import { callChild } from './child-call.ts';
import type { Children } from './child-call.ts';
import { gateOf } from '../../execution/gate.ts';
import { reachOf } from '../../execution/block-services.ts';
import { ActiveRun } from './active-run.ts';
import type { RestEvent, RunParts } from './run-parts.ts';
import type { RuntimeParts } from '../../execution/runtime-parts.ts';
import { randomToken } from '../../execution/tokens.ts';

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
      if (!isHeldByOther(error, runId)) parts.report(error, runId);
    },
  });
  return run;
}

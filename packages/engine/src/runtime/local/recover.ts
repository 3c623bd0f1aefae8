import type { NewRun } from '@heddle/core';
import { isHeldByOther } from '../../store/leases.ts';
import { awaitedChildren, childRunId, isChildAt, recordedChildren } from '../../execution/child-runs.ts';
import type { ActiveRun } from './active-run.ts';
import type { RuntimeParts } from '../../execution/runtime-parts.ts';

type Parts = Pick<RuntimeParts, 'stores' | 'report'>;

/** What moves runs. */
interface Mover {
  /** The run, when it has not ended. */
  open(runId: string): Promise<ActiveRun | undefined>;
  cancel(runId: string, reason: string): Promise<boolean>;
  /** Says in the run's record what is in the way. */
  stumble(runId: string, error: unknown): Promise<void>;
}

/** Takes up a run, and the children that it waits for; a child that no parent waits for is cancelled. Never rejects: what is in the way stands in its record. */
export async function takeUp(mover: Mover, parts: Parts, runId: string): Promise<void> {
  const { runs } = parts.stores;
  try {
    const header = await runs.header(runId);
    if (header?.elsewhere) return;
    if (header?.parent && !(await isAwaited(mover, header, header.parent.runId))) {
      await mover.cancel(runId, 'The parent run has ended.');
      return;
    }
    const run = await mover.open(runId);
    // A parent that stands still opens none of them itself.
    const children = run ? await recordedChildren(runs, run.header, awaitedChildren(run)) : [];
    for (const child of children) await takeUp(mover, parts, child.runId);
  } catch (error) {
    if (isHeldByOther(error, runId)) return;
    parts.report(error, runId);
    await mover.stumble(runId, error);
  }
}

/** True also when the parent cannot be read: that is said in its own turn. */
async function isAwaited(mover: Mover, child: NewRun, parentId: string): Promise<boolean> {
  try {
    const parent = await mover.open(parentId);
    if (!parent) return false;
    return awaitedChildren(parent).some(
      (each) =>
        childRunId(parent.header, each) === child.runId && isChildAt(child, parent.header, each.place),
    );
  } catch {
    return true;
  }
}

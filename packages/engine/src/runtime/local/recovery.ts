import type { NewRun } from '@heddle/core';
import { isAwaited } from '../../execution/child-runs.ts';
import type { RuntimeParts } from '../../execution/runtime-parts.ts';
import { isHeldByOther } from '../../store/leases.ts';
import type { RunRegistry } from './run-registry.ts';

interface RecoveryParts extends Pick<RuntimeParts, 'stores' | 'report'> {
  runs: RunRegistry;
}

/** Recovers every run that has not ended and that belongs to this runtime. */
export async function recoverAll(parts: RecoveryParts): Promise<void> {
  for (const runId of await parts.stores.runs.open()) await recoverRun(parts, runId);
}

/**
 * Recovers a run and the children that it waits for; a child that no parent waits for is cancelled. Never rejects:
 * errors are written to the run's record.
 */
export async function recoverRun(parts: RecoveryParts, runId: string): Promise<void> {
  const { runs, report } = parts;
  const store = parts.stores.runs;
  try {
    const header = await store.header(runId);
    if (header?.elsewhere) return;
    if (header?.parent && !(await isWanted(runs, header, header.parent.runId))) {
      await runs.cancel(runId, 'The parent run has ended.');
      return;
    }
    const run = await runs.open(runId);
    // A suspended parent does not open its children itself.
    const children = run ? await store.children(runId, { open: true }) : [];
    for (const child of children) await recoverRun(parts, child);
  } catch (error) {
    if (isHeldByOther(error, runId)) return;
    report(error, runId);
    await runs.recordFailure(runId, error);
  }
}

/**
 * True if the parent waits for the child, or if the parent cannot be read; the error is reported when the parent is
 * recovered.
 */
async function isWanted(runs: RunRegistry, child: NewRun, parentId: string): Promise<boolean> {
  try {
    const parent = await runs.open(parentId);
    return parent !== undefined && isAwaited(child, parent);
  } catch {
    return true;
  }
}

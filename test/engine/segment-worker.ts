import { randomUUID } from 'node:crypto';
import type { Clock } from '@heddle/core';
import { createWorkerResources, RemoteRuns, Segments } from '@heddle/engine/runtime';
import type { Position, SegmentRequest, TimedEntry } from '@heddle/engine/runtime';
import { openStores } from '@heddle/engine/stores';
import type { SharedStores } from '@heddle/engine/stores';
import { onTestFinished } from 'vitest';
import type { StallDetector } from '../../packages/engine/src/runtime/segments/stall-detector.ts';
import { work } from '../support/scripted-executor.ts';
import type { ScriptedExecutor } from '../support/scripted-executor.ts';
import { workflow } from '../support/workflow.ts';

const START_POSITION: Position = { seq: 1, tip: 'start', unwritten: [] };

/**
 * Opens a worker on shared stores, for a runtime that stores its runs in another process. The worker executes segments:
 * parts of a run between two checkpoints of the runtime.
 */
export function openWorker(
  scriptedExecutor: ScriptedExecutor,
  stores: SharedStores = openStores(),
  { stallDetector, clock }: { stallDetector?: StallDetector; clock?: Clock } = {},
) {
  const blocks = [{ ...scriptedExecutor.executor, class: 'compute' as const }];
  const resources = createWorkerResources(stores, { blocks, ...(clock && { clock }) });
  onTestFinished(() => resources.close());
  const segments = new Segments(resources.dependencies, stallDetector);
  const remoteRuns = new RemoteRuns(resources.dependencies);
  return {
    stores,
    /** Records a run of a workflow with these blocks and edges. Returns its id and the command of its start block. */
    async recordRun(blockNames: string[], edges: string[]) {
      const definition = workflow(
        blockNames.map((name) => work(name)),
        edges,
      );
      const { plan } = resources.dependencies.definitions.compile(definition);
      const runId = randomUUID();
      await remoteRuns.recordStart({
        runId,
        plan,
        version: undefined,
        input: {},
        start: plan.start,
        mocks: null,
      });
      const startIndex = plan.skeleton.nodes.findIndex(({ id }) => id === plan.start);
      return { runId, owed: [{ type: 'run' as const, at: [startIndex], try: 1 }] };
    },
    run: (request: Pick<SegmentRequest, 'runId' | 'owed'> & Partial<SegmentRequest>) =>
      segments.run({
        position: START_POSITION,
        beyond: true,
        softMs: 60_000,
        signal: new AbortController().signal,
        ...request,
      }),
    save: (runId: string, position: Position) => segments.save(runId, position),
    follow: (runId: string) => remoteRuns.events(runId),
    answer: async (runId: string) => (await remoteRuns.prepareResumeAnswer(runId, { input: {} }))?.seq,
  };
}

/** Returns the journal item with these entries, the first of which has the number `seq`. */
export function journalItemOf(id: string, entries: readonly TimedEntry[], seq: number) {
  return { id, seq, chunk: { v: entries as never } };
}

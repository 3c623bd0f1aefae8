import { createEngine } from '@heddle/engine';
import { temporal } from '@heddle/temporal';
import { expectResult } from '../workload.ts';
import { countExecutedSteps, planOf, STEP_EXECUTORS } from './graphs.ts';
import type { ProcessSetup, Contender } from './contender.ts';

/** Opens Heddle as a host does: `engine.execute`, with journal, record and logs in a data folder. */
export async function open({
  server,
  queue,
  data,
  client,
  roles,
  settings,
}: ProcessSetup): Promise<Contender> {
  const { localSegments = true, checkpoint = 'segment', maxCachedWorkflows } = settings;
  const engine = await createEngine({
    blocks: [...STEP_EXECUTORS],
    runtime: temporal({
      ...server,
      taskQueue: queue,
      data,
      localSegments,
      checkpoint,
      worker: roles.length > 0 && { roles, ...(maxCachedWorkflows !== undefined && { maxCachedWorkflows }) },
    }),
  });
  return {
    run: async (job) => {
      if (!client) throw new Error('This process has no client.');
      const { status, output } = await engine.execute({ plan: planOf(job) }, {});
      expectResult(status, 'completed');
      expectResult(countExecutedSteps(job, output), job.graph === 'empty' ? 0 : job.size);
    },
    startPausedRun: async () => {
      const { status } = await engine.execute({ plan: planOf({ graph: 'pause', size: 1 }) }, {});
      expectResult(status, 'paused');
    },
    close: () => engine.close({ graceMs: 0 }),
  };
}

import type { RunDetail } from '@heddle/engine';
import type { Services } from '../../services.ts';
import type { ReservationRow, WorkflowRow } from '../../store/schema.ts';
import { triggerOf } from './views.ts';

interface RunsQuery {
  status?: 'pending' | 'running' | 'completed' | 'failed' | 'cancelled' | 'paused' | undefined;
  trigger?: string | undefined;
  startDate?: string | undefined;
  endDate?: string | undefined;
  limit: number;
  order: 'asc' | 'desc';
}

/** So many pages of the engine are looked through for runs of a trigger; then the page is short. */
const MOST_PAGES = 20;

type Item = ReturnType<typeof itemOf>;

/** A page of runs, and the engine's cursor at which the next one begins. */
export async function pageOfRuns(
  services: Services,
  workflow: WorkflowRow,
  query: RunsQuery,
  from: string | undefined,
): Promise<{ items: Item[]; next: string | undefined }> {
  // Runs of this engine are never pending.
  if (query.status === 'pending') return { items: [], next: undefined };
  const items: Item[] = [];
  let at = from;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page = await list(services, workflow, query, { limit: query.limit, cursor: at });
    const { reservations } = services.store;
    const known = await reservations.of(page.runs.map(({ runId }) => runId));
    const all = page.runs.map((run) => itemOf(run, known.get(run.runId)));
    const wanted = all.filter((item) => query.trigger === undefined || item.trigger === query.trigger);
    const taken = wanted.slice(0, query.limit - items.length);
    items.push(...taken);
    const last = taken.at(-1);
    if (items.length === query.limit && last) {
      const read = all.indexOf(last) + 1;
      if (read === all.length) return { items, next: page.nextCursor ?? undefined };
      // The place behind the last item that was taken: the end of a page of just so many.
      const short = await list(services, workflow, query, { limit: read, cursor: at });
      return { items, next: short.nextCursor ?? undefined };
    }
    if (page.nextCursor === null) return { items, next: undefined };
    at = page.nextCursor;
  }
  return { items, next: at };
}

async function list(
  { engine }: Services,
  workflow: WorkflowRow,
  { status, startDate, endDate, order }: RunsQuery,
  { limit, cursor }: { limit: number; cursor: string | undefined },
) {
  return engine.listRuns({
    workflowId: workflow.id,
    ...(status !== undefined && status !== 'pending' && { status: [status] }),
    ...(startDate !== undefined && { fromMs: Date.parse(startDate) }),
    ...(endDate !== undefined && { toMs: Date.parse(endDate) }),
    ...(cursor !== undefined && { cursor }),
    order,
    limit,
  });
}

function itemOf(run: RunDetail, claim: ReservationRow | undefined) {
  const { workflowId, status, startedAt, createdAt, endedAt, durationMs } = run;
  return {
    runId: claim?.run_id ?? run.runId,
    workflowId,
    status,
    trigger: triggerOf(run, claim),
    startedAt: startedAt ?? createdAt,
    endedAt,
    durationMs,
    cost: null,
  };
}

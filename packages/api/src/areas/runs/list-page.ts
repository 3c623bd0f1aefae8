import type { RunDetail } from '@heddle/engine';
import type { AreaContext } from '../../context.ts';
import type { Definition, Reservation } from '../../ports.ts';
import { triggerOf } from './views.ts';

interface RunsQuery {
  status?: 'pending' | 'running' | 'completed' | 'failed' | 'cancelled' | 'paused' | undefined;
  trigger?: string | undefined;
  startDate?: string | undefined;
  endDate?: string | undefined;
  limit: number;
  order: 'asc' | 'desc';
}

/** Maximum number of engine pages that are searched for runs of a trigger. After them, a shorter page is returned. */
const MAX_PAGES = 20;

type RunItem = ReturnType<typeof runItemOf>;

/** Returns a page of runs, and the engine's cursor of the next page. */
export async function listRunsPage(
  services: AreaContext,
  workflow: Definition,
  query: RunsQuery,
  startCursor: string | undefined,
): Promise<{ items: RunItem[]; nextCursor: string | undefined }> {
  // No run of the engine has the status `pending`.
  if (query.status === 'pending') return { items: [], nextCursor: undefined };
  const items: RunItem[] = [];
  let cursor = startCursor;
  for (let pageCount = 0; pageCount < MAX_PAGES; pageCount += 1) {
    const page = await listEngineRuns(services, workflow, query, { limit: query.limit, cursor });
    const reservations = await services.reservations.findByEngineRunIds(page.runs.map(({ runId }) => runId));
    const pageItems = page.runs.map((run) => runItemOf(run, reservations.get(run.runId)));
    const matchingItems = pageItems.filter(
      (item) => query.trigger === undefined || item.trigger === query.trigger,
    );
    const addedItems = matchingItems.slice(0, query.limit - items.length);
    items.push(...addedItems);
    const lastItem = addedItems.at(-1);
    if (items.length === query.limit && lastItem) {
      const readCount = pageItems.indexOf(lastItem) + 1;
      if (readCount === pageItems.length) return { items, nextCursor: page.nextCursor ?? undefined };
      // A page that ends right after the last returned item has the cursor that continues there.
      const shorterPage = await listEngineRuns(services, workflow, query, { limit: readCount, cursor });
      return { items, nextCursor: shorterPage.nextCursor ?? undefined };
    }
    if (page.nextCursor === null) return { items, nextCursor: undefined };
    cursor = page.nextCursor;
  }
  return { items, nextCursor: cursor };
}

async function listEngineRuns(
  { engine }: AreaContext,
  workflow: Definition,
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

function runItemOf(run: RunDetail, reservation: Reservation | undefined) {
  const { workflowId, status, startedAt, createdAt, endedAt, durationMs } = run;
  return {
    runId: reservation?.runId ?? run.runId,
    workflowId,
    status,
    trigger: triggerOf(run, reservation),
    startedAt: startedAt ?? createdAt,
    endedAt,
    durationMs,
    cost: null,
  };
}

import { randomUUID } from 'node:crypto';
import type { AreaContext } from '@heddle/api';
import { DueLoop } from '../due-loop.ts';
import { turnBy } from '../rows.ts';
import { HookJob } from './job.ts';
import type { HookServices } from './job.ts';
import { hookWithNumbers } from './tables.ts';
import type { ProviderHookRow } from './tables.ts';

/** Maximum number of triggers whose hooks this process works on at the same time: in all, and of one workspace. */
const MAX_JOBS = 8;
const MAX_WORKSPACE_JOBS = 2;
/** Maximum duration of the work on the hooks of one trigger. */
const JOB_MS = 90_000;
/** After this time, another process continues the work of a process that died. */
const LEASE_MS = 120_000;

/**
 * Creates, renews and removes the hooks of triggers at their providers. Any number of processes may do so on one database: the
 * hooks of a trigger are claimed by one of them.
 */
export class HookReconciler {
  readonly #options: HookServices;
  readonly #loop: DueLoop;
  /** The jobs of this process, each with its workspace. */
  readonly #jobs = new Map<Promise<void>, string>();
  readonly #stop = new AbortController();

  constructor(options: HookServices & Pick<AreaContext, 'every'>) {
    this.#options = options;
    this.#loop = new DueLoop({ ...options, work: () => this.#begin() });
  }

  /** Looks for work at once. Call it when wanted hooks have changed. */
  wake(): void {
    this.#loop.hurry();
  }

  /** Stops. Hooks that were created but not recorded are found at the provider later. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#loop.close();
    await Promise.allSettled(this.#jobs.keys());
  }

  /** Begins the jobs that are due. Resolves with the time of the next one; undefined while the maximum number of jobs is running. */
  async #begin(): Promise<number | undefined> {
    for (;;) {
      const room = MAX_JOBS - this.#jobs.size;
      if (room <= 0 || this.#loop.isClosed) return undefined;
      let begun = 0;
      for (const row of await this.#due(room)) {
        if (this.#loop.isClosed || this.#isFull(row)) continue;
        const claimed = await this.#claimed(row);
        if (!claimed) continue;
        this.#work(claimed);
        begun += 1;
      }
      if (begun === 0) return this.#earliest();
    }
  }

  #free() {
    const { db, now } = this.#options;
    const full = this.#fullWorkspaces();
    return db
      .selectFrom('provider_hooks')
      .where('look_ms', 'is not', null)
      .where((eb) => eb.or([eb('lease_ms', 'is', null), eb('lease_ms', '<=', now())]))
      .$if(full.length > 0, (some) => some.where('workspace_id', 'not in', full));
  }

  /** Returns due rows, taking one of each workspace in turn. */
  async #due(limit: number): Promise<ProviderHookRow[]> {
    const { db, now } = this.#options;
    const rows = await db
      .with('due', () =>
        this.#free().selectAll().select(turnBy('look_ms', 'block_id')).where('look_ms', '<=', now()),
      )
      .selectFrom('due')
      .selectAll()
      .orderBy('turn')
      .orderBy('workflow_id')
      .orderBy('block_id')
      .limit(limit)
      .execute();
    return rows.map(({ turn: _turn, ...row }) => hookWithNumbers(row));
  }

  async #earliest(): Promise<number | undefined> {
    const row = await this.#free().select('look_ms').orderBy('look_ms').limit(1).executeTakeFirst();
    return row?.look_ms == null ? undefined : Number(row.look_ms);
  }

  #isFull({ workspace_id: id }: ProviderHookRow): boolean {
    return [...this.#jobs.values()].filter((each) => each === id).length >= MAX_WORKSPACE_JOBS;
  }

  #fullWorkspaces(): string[] {
    const counts = Map.groupBy(this.#jobs.values(), (id) => id);
    return [...counts].filter(([, jobs]) => jobs.length >= MAX_WORKSPACE_JOBS).map(([id]) => id);
  }

  /** Claims the hooks of a trigger until the lease expires. Returns undefined if another process has claimed or changed them. */
  async #claimed(row: ProviderHookRow): Promise<ProviderHookRow | undefined> {
    const { db, now } = this.#options;
    const claimed = await db
      .updateTable('provider_hooks')
      .set({ lease_id: randomUUID(), lease_ms: now() + LEASE_MS })
      .where('workflow_id', '=', row.workflow_id)
      .where('block_id', '=', row.block_id)
      .where('revision', '=', row.revision)
      .where('look_ms', '=', row.look_ms)
      .where((eb) => eb.or([eb('lease_ms', 'is', null), eb('lease_ms', '<=', now())]))
      .returningAll()
      .executeTakeFirst();
    return claimed && hookWithNumbers(claimed);
  }

  #work(row: ProviderHookRow): void {
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(JOB_MS)]);
    const working = new HookJob(this.#options, row, signal)
      .run()
      .catch((error: unknown) => this.#options.report(error))
      .finally(() => {
        this.#jobs.delete(working);
        if (!this.#loop.isClosed) this.#loop.hurry();
      });
    this.#jobs.set(working, row.workspace_id);
  }
}

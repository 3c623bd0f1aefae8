import { randomUUID } from 'node:crypto';
import type { AreaContext } from '@heddle/api';
import type { SelectQueryBuilder } from 'kysely';
import { TimerLoop } from '../timer-loop.ts';
import { beginDueWork, Jobs } from '../jobs.ts';
import type { JobLimits } from '../jobs.ts';
import { workspaceRank } from '../rows.ts';
import type { WebhookRegistrationTables } from './database.ts';
import { RegistrationJob } from './job.ts';
import type { RegistrationServices } from './job.ts';
import { registrationWithNumericTimes } from './tables.ts';
import type { WebhookRegistrationRow } from './tables.ts';

/**
 * Maximum numbers of concurrent jobs of this process for one provider, so that an unresponsive provider does not delay
 * the jobs for others.
 */
const MAX_JOBS: JobLimits = { total: 4, perWorkspace: 2 };
/** Maximum duration of a job, which reconciles the registrations of one trigger. */
const JOB_TIMEOUT_MS = 90_000;
/** Duration of a lease. When it has expired, another process continues the work. */
const LEASE_MS = 120_000;

/**
 * Creates, renews and removes the registrations of triggers: webhooks at their providers. Several processes can share
 * one database: one of them claims the registrations of a trigger.
 */
export class RegistrationReconciler {
  readonly #options: RegistrationServices;
  readonly #loop: TimerLoop;
  /** The jobs of each provider. */
  readonly #jobs = new Map<string, Jobs>();
  readonly #stopController = new AbortController();

  constructor(options: RegistrationServices & Pick<AreaContext, 'repeat'>) {
    this.#options = options;
    this.#loop = new TimerLoop({ ...options, work: () => this.#startDueJobs() });
  }

  /** Checks for work immediately. Call it when desired registrations have changed. */
  checkNow(): void {
    this.#loop.checkNow();
  }

  /** Stops the work. Registrations that were created but not recorded are found at the provider later. */
  async close(): Promise<void> {
    this.#stopController.abort();
    await this.#loop.close();
    await Promise.all([...this.#jobs.values()].map((jobs) => jobs.waitUntilIdle()));
  }

  async #startDueJobs(): Promise<number | undefined> {
    const times = [await this.#findNextDueMs()];
    for (const provider of await this.#findDueProviders()) times.push(await this.#startDueJobsOf(provider));
    const dueTimes = times.filter((ms) => ms !== undefined);
    return dueTimes.length === 0 ? undefined : Math.min(...dueTimes);
  }

  #startDueJobsOf(provider: string): Promise<number | undefined> {
    return beginDueWork({
      jobs: this.#jobsOf(provider),
      isClosed: () => this.#loop.isClosed,
      findDueWork: (query) => this.#findDueRegistrations(provider, query),
      claim: (row) => this.#claim(row),
      begin: (row) => this.#startJob(row),
      findEarliestDueMs: ({ excludedWorkspaceIds }) =>
        this.#findEarliestDueMs(provider, excludedWorkspaceIds),
    });
  }

  #jobsOf(provider: string): Jobs {
    const jobs = this.#jobs.get(provider) ?? new Jobs(MAX_JOBS);
    this.#jobs.set(provider, jobs);
    return jobs;
  }

  /** Selects the rows that have a due time and no lease. */
  #selectUnleasedRows() {
    const { db, now } = this.#options;
    return db
      .selectFrom('provider_hooks')
      .where('look_ms', 'is not', null)
      .where((eb) => eb.or([eb('lease_ms', 'is', null), eb('lease_ms', '<=', now())]));
  }

  #selectUnleasedRowsOf(provider: string, excludedWorkspaceIds: readonly string[]) {
    return this.#selectUnleasedRows()
      .where('provider', '=', provider)
      .$if(excludedWorkspaceIds.length > 0, (query) =>
        query.where('workspace_id', 'not in', excludedWorkspaceIds),
      );
  }

  async #findDueProviders(): Promise<string[]> {
    const rows = await this.#selectUnleasedRows()
      .select('provider')
      .distinct()
      .where('look_ms', '<=', this.#options.now())
      .orderBy('provider')
      .execute();
    return rows.map(({ provider }) => provider);
  }

  /** Returns due rows of a provider, taking one of each workspace in turn. */
  async #findDueRegistrations(
    provider: string,
    { limit, excludedWorkspaceIds }: { limit: number; excludedWorkspaceIds: readonly string[] },
  ): Promise<WebhookRegistrationRow[]> {
    const { db, now } = this.#options;
    const rows = await db
      .with('due', () =>
        this.#selectUnleasedRowsOf(provider, excludedWorkspaceIds)
          .selectAll()
          .select(workspaceRank('look_ms', 'block_id'))
          .where('look_ms', '<=', now()),
      )
      .selectFrom('due')
      .selectAll()
      .orderBy('turn')
      .orderBy('workflow_id')
      .orderBy('block_id')
      .limit(limit)
      .execute();
    return rows.map(({ turn: _turn, ...row }) => registrationWithNumericTimes(row));
  }

  /** Returns the earliest due time of a provider's rows. Ignores the workspaces `excludedWorkspaceIds`. */
  #findEarliestDueMs(provider: string, excludedWorkspaceIds: readonly string[]): Promise<number | undefined> {
    return findFirstDueMs(this.#selectUnleasedRowsOf(provider, excludedWorkspaceIds));
  }

  /** Returns when the next row that is not due yet becomes due. */
  #findNextDueMs(): Promise<number | undefined> {
    return findFirstDueMs(this.#selectUnleasedRows().where('look_ms', '>', this.#options.now()));
  }

  /**
   * Claims the registrations of a trigger until the lease expires. Returns undefined if another process has claimed or
   * changed them.
   */
  async #claim(row: WebhookRegistrationRow): Promise<WebhookRegistrationRow | undefined> {
    const { db, now } = this.#options;
    const claimedRow = await db
      .updateTable('provider_hooks')
      .set({ lease_id: randomUUID(), lease_ms: now() + LEASE_MS })
      .where('workflow_id', '=', row.workflow_id)
      .where('block_id', '=', row.block_id)
      .where('revision', '=', row.revision)
      .where('look_ms', '=', row.look_ms)
      .where((eb) => eb.or([eb('lease_ms', 'is', null), eb('lease_ms', '<=', now())]))
      .returningAll()
      .executeTakeFirst();
    return claimedRow && registrationWithNumericTimes(claimedRow);
  }

  #startJob(row: WebhookRegistrationRow): void {
    const signal = AbortSignal.any([this.#stopController.signal, AbortSignal.timeout(JOB_TIMEOUT_MS)]);
    const job = new RegistrationJob(this.#options, row, signal)
      .run()
      .catch((error: unknown) => this.#options.onError(error));
    this.#jobsOf(row.provider).add(row.workspace_id, job, () => this.#loop.checkNow());
  }
}

async function findFirstDueMs(
  query: SelectQueryBuilder<WebhookRegistrationTables, 'provider_hooks', unknown>,
): Promise<number | undefined> {
  const row = await query.select('look_ms').orderBy('look_ms').limit(1).executeTakeFirst();
  return row?.look_ms == null ? undefined : Number(row.look_ms);
}

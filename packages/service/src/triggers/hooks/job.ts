import type { JsonObject } from '@heddle/core';
import { BlockError, isBlockError } from '@heddle/core/blocks';
import type { TenantCredentials } from '@heddle/engine';
import type { Kysely } from 'kysely';
import type { Sealer } from '../../sealing.ts';
import { AuditStore } from '../../store/audit.ts';
import { retryDelayMs } from '../fire.ts';
import { shortenMessage, isTimeout } from '../health.ts';
import type { ActiveHook, HookContext, ProviderHook } from '@heddle/engine/triggers';
import type { TriggerType } from '../types.ts';
import { MAX_RETRY_MS, RETRY_MS } from './retry.ts';
import { newHookSecret, openSecret, sealSecret } from './secret.ts';
import type { HookTables } from './database.ts';
import type { ProviderHookRow } from './tables.ts';
import type { ActualHook, DesiredHook } from './desired-hooks.ts';

type Db = Kysely<HookTables>;

/** A hook is checked again after this time: it may have been removed at the provider. */
const CHECK_INTERVAL_MS = 24 * 3_600_000;
/** A hook is left at the provider after this many attempts to remove it, which take about 20 hours. */
const MAX_REMOVAL_ATTEMPTS = 30;
/** A hook is renewed this long before it expires, or after half of its lifetime if that is shorter. */
const RENEW_BEFORE_EXPIRY_MS = 24 * 3_600_000;
const UNKNOWN_FAILURE = 'The provider could not be called for the webhook.';

/** The dependencies of a hook job. */
export interface HookServices {
  db: Db;
  types: ReadonlyMap<string, TriggerType>;
  sealer: Sealer;
  credentials: TenantCredentials | undefined;
  service: HookContext['service'];
  now: () => number;
  onError: (error: unknown) => void;
}

/** An event for the audit log. */
interface AuditEvent {
  action: string;
  details: JsonObject;
}

/** A failure as users see it. */
interface Failure {
  message: string;
  isRetryable: boolean;
  retryAfterMs: number | undefined;
  /** Whether the secret of the credential has changed since the attempt began. */
  isOutdated?: boolean;
}

/** Reconciles the hooks (webhook registrations at providers) of one trigger, on which this process has a lease. */
export class HookJob {
  readonly #services: HookServices;
  readonly #row: ProviderHookRow;
  readonly #signal: AbortSignal;
  #presentHooks: ActualHook[];
  #secret: string | undefined;
  readonly #auditEvents: AuditEvent[] = [];

  /** This process must hold the lease of `row`. */
  constructor(services: HookServices, row: ProviderHookRow, signal: AbortSignal) {
    this.#services = services;
    this.#row = row;
    this.#signal = signal;
    this.#presentHooks = JSON.parse(row.present) as ActualHook[];
  }

  /** Creates the desired hook and removes all others, as far as possible, and records which hooks exist. */
  async run(): Promise<void> {
    const { wanted } = this.#row;
    const desiredHook = wanted === null ? undefined : (JSON.parse(wanted) as DesiredHook);
    let failure: Failure | undefined;
    let activeHook: ActiveHook | undefined;
    try {
      this.#secret = openSecret(this.#services.sealer, this.#row);
      const actualHook = desiredHook && this.#findOrAdd(desiredHook);
      // First: a hook without an id is identified only by its URL, so it could be mistaken for the desired hook.
      await this.#removeAll((hook) => hook !== actualHook && hook.hookId === null);
      if (actualHook) activeHook = await this.#activate(actualHook);
    } catch (error) {
      failure = this.#failureOf(error);
    }
    try {
      const actualHook = desiredHook && this.#findOrAdd(desiredHook);
      await this.#removeAll((hook) => hook !== actualHook && hook.hookId !== null);
    } catch (error) {
      failure ??= this.#failureOf(error);
    }
    await this.#record(activeHook, failure);
  }

  /** Returns the desired hook from the list of hooks that may exist. Adds the hook to the list if it is missing. */
  #findOrAdd(desiredHook: DesiredHook): ActualHook {
    const place = this.#providerHookOf(desiredHook).locationOf(desiredHook.config) ?? '';
    const existingHook = this.#presentHooks.find(
      (hook) => hook.place === place && hook.url === desiredHook.url,
    );
    const actualHook: ActualHook = existingHook ?? { ...desiredHook, place, hookId: null };
    if (existingHook) Object.assign(existingHook, desiredHook);
    else this.#presentHooks.push(actualHook);
    return actualHook;
  }

  #providerHookOf({ type: name }: DesiredHook): ProviderHook {
    const type = this.#services.types.get(name);
    if (type?.kind === 'webhook' && type.hook) return type.hook;
    throw new BlockError('HOOK_FAILED', `This server has no triggers of the type ${name}.`);
  }

  async #activate(actualHook: ActualHook): Promise<ActiveHook> {
    const { sealer } = this.#services;
    this.#secret ??= newHookSecret();
    // Recorded before the request to the provider: after a crash, the hook is found by its URL, and it signs with this
    // secret.
    const secretColumns = sealSecret(sealer, this.#row, this.#secret);
    if (actualHook.hookId === null && !(await this.#save(secretColumns)))
      throw new BlockError('HOOK_FAILED', 'Another process is changing the webhook.');
    const providerHook = this.#providerHookOf(actualHook);
    const isRenewal =
      this.#row.state === 'active' && actualHook.hookId !== null && providerHook.renew !== undefined;
    const context = this.#createContext(actualHook);
    const activeHook = isRenewal
      ? await providerHook.renew?.(actualHook.config, context)
      : await providerHook.activate(actualHook.config, context);
    const result = activeHook as ActiveHook;
    if (actualHook.hookId !== result.id) this.#addAuditEvent('TRIGGER_HOOK_CREATED', actualHook);
    actualHook.hookId = result.id;
    this.#secret = result.secret ?? this.#secret;
    return result;
  }

  /** Removes the obsolete hooks. A hook whose removal fails too often or is refused is left at the provider. */
  async #removeAll(isObsolete: (hook: ActualHook) => boolean): Promise<void> {
    let lastFailure: Failure | undefined;
    for (const hook of this.#presentHooks.filter(isObsolete)) {
      try {
        if (!this.#isShared(hook)) {
          await this.#providerHookOf(hook).deactivate(hook.config, this.#createContext(hook));
          this.#addAuditEvent('TRIGGER_HOOK_REMOVED', hook);
        }
        this.#removeFromList(hook);
      } catch (error) {
        const failure = this.#failureOf(error);
        if (failure.isRetryable && this.#row.attempts < MAX_REMOVAL_ATTEMPTS) lastFailure = failure;
        else {
          this.#addAuditEvent('TRIGGER_HOOK_LEFT', hook, { error: failure.message });
          this.#removeFromList(hook);
        }
      }
    }
    if (!lastFailure) return;
    const { message, retryAfterMs } = lastFailure;
    throw new BlockError('HOOK_FAILED', message, retryAfterMs === undefined ? {} : { retryAfterMs });
  }

  /**
   * Returns whether another hook of the list is the same hook at the provider. This is possible because two credentials
   * can belong to one account.
   */
  #isShared(hook: ActualHook): boolean {
    if (hook.hookId === null) return false;
    return this.#presentHooks.some(
      (other) => other !== hook && haveSameProvider(other, hook) && other.hookId === hook.hookId,
    );
  }

  #removeFromList(hook: ActualHook): void {
    this.#presentHooks = this.#presentHooks.filter((other) => other !== hook);
  }

  #createContext(hook: ActualHook): HookContext {
    const { credentials, service, now } = this.#services;
    const { workspace_id: workspaceId } = this.#row;
    return {
      ...{ url: hook.url, secret: this.#secret ?? '', hookId: hook.hookId ?? undefined },
      formerUrls: this.#presentHooks.filter(({ url }) => url !== hook.url).map(({ url }) => url),
      otherHookIds: this.#presentHooks.flatMap(({ hookId }) =>
        hookId === null || hookId === hook.hookId ? [] : [hookId],
      ),
      ...{ service, nowMs: now(), signal: this.#signal },
      credential: async (id) => {
        const storedCredential = await credentials?.find(workspaceId, { id });
        if (storedCredential) return storedCredential.secret;
        const message = 'The workspace does not have the stored credential of the trigger.';
        throw new BlockError('HOOK_FAILED', message, { retryable: false });
      },
    };
  }

  #failureOf(error: unknown): Failure {
    if (isBlockError(error)) {
      const { message, retryable: isRetryable, retryAfterMs } = error;
      return { message: shortenMessage(message), isRetryable, retryAfterMs };
    }
    // A provider that is too slow is not an error of this server.
    if (!this.#signal.aborted) this.#services.onError(error);
    return { message: UNKNOWN_FAILURE, isRetryable: true, retryAfterMs: undefined };
  }

  #addAuditEvent(action: string, { url, place }: ActualHook, details: JsonObject = {}): void {
    this.#auditEvents.push({ action, details: { place, host: new URL(url).host, ...details } });
  }

  /**
   * Writes which hooks may exist. Returns when the row is due; undefined if another process has claimed the row after
   * the lease expired. That process finds the hooks at the provider.
   */
  async #save(
    columns: Partial<ProviderHookRow>,
    db: Db = this.#services.db,
  ): Promise<Pick<ProviderHookRow, 'look_ms'> | undefined> {
    const { workflow_id, block_id, lease_id } = this.#row;
    return db
      .updateTable('provider_hooks')
      .set({ present: JSON.stringify(this.#presentHooks), ...columns })
      .where('workflow_id', '=', workflow_id)
      .where('block_id', '=', block_id)
      .where('lease_id', '=', lease_id)
      .returning('look_ms')
      .executeTakeFirst();
  }

  /**
   * Records which hooks may exist and ends the lease, in one transaction. Does not record the result of the attempt if
   * the desired hook has changed since the row was claimed.
   */
  async #record(activeHook: ActiveHook | undefined, failure: Failure | undefined): Promise<void> {
    const { db, sealer } = this.#services;
    const { workflow_id, block_id, revision, workspace_id: workspaceId, trigger_id: resourceId } = this.#row;
    const secretColumns = this.#secret === undefined ? {} : sealSecret(sealer, this.#row, this.#secret);
    await db.transaction().execute(async (tx) => {
      const savedRow = await this.#save({ ...secretColumns, lease_id: null, lease_ms: null }, tx);
      if (!savedRow) return;
      for (const auditEvent of this.#auditEvents)
        await new AuditStore(tx as never).record({
          ...auditEvent,
          workspaceId,
          resourceType: 'trigger',
          resourceId,
        });
      // This process is stopping, so another process continues the work.
      if (failure && this.#signal.aborted && !isTimeout(this.#signal.reason)) return;
      const isDone = this.#row.wanted === null && this.#presentHooks.length === 0;
      if (isDone)
        await tx
          .deleteFrom('provider_hooks')
          .where('workflow_id', '=', workflow_id)
          .where('block_id', '=', block_id)
          .where('revision', '=', revision)
          .execute();
      else
        await tx
          .updateTable('provider_hooks')
          .set(
            this.#columnsAfterAttempt(
              activeHook,
              failure && { ...failure, isOutdated: this.#wasRescheduled(savedRow) },
            ),
          )
          .where('workflow_id', '=', workflow_id)
          .where('block_id', '=', block_id)
          .where('revision', '=', revision)
          .execute();
    });
  }

  /** Returns whether `retryHooks` has changed the due time since the row was claimed. */
  #wasRescheduled({ look_ms: dueMs }: Pick<ProviderHookRow, 'look_ms'>): boolean {
    return dueMs !== null && Number(dueMs) !== this.#row.look_ms;
  }

  #columnsAfterAttempt(
    activeHook: ActiveHook | undefined,
    failure: Failure | undefined,
  ): Partial<ProviderHookRow> {
    const nowMs = this.#services.now();
    const expiryColumns: Partial<ProviderHookRow> = activeHook
      ? { expires_ms: activeHook.expiresMs ?? null }
      : {};
    const columns = { checked_ms: nowMs, ...expiryColumns };
    if (activeHook) {
      const change = { ...columns, state: 'active', active_ms: this.#row.active_ms ?? nowMs } as const;
      // Another hook could not be removed.
      if (failure) return { ...change, ...this.#retryColumns(failure, nowMs) };
      const look_ms = nextCheckMs(activeHook, nowMs);
      return { ...change, error: null, is_retryable: 0, attempts: 0, look_ms };
    }
    if (!failure) return { ...columns, look_ms: nowMs };
    const retryColumns = this.#retryColumns(failure, nowMs);
    if (this.#row.wanted === null) return { ...columns, ...retryColumns };
    const hasExpired = this.#row.expires_ms !== null && this.#row.expires_ms <= nowMs;
    const staysActive = this.#row.state === 'active' && failure.isRetryable && !hasExpired;
    return { ...columns, ...retryColumns, state: staysActive ? 'active' : 'failed' };
  }

  /**
   * Returns the columns of the failure and of its retry. A refusal is retried after a day, or soon if the credential
   * has changed.
   */
  #retryColumns(failure: Failure, nowMs: number): Partial<ProviderHookRow> {
    const { message, isRetryable, retryAfterMs = 0, isOutdated = false } = failure;
    const { attempts } = this.#row;
    const delayMs = retryDelayMs(RETRY_MS, attempts, MAX_RETRY_MS);
    const retriesSoon = isRetryable || isOutdated;
    const waitMs = retriesSoon
      ? Math.min(Math.max(delayMs, retryAfterMs), CHECK_INTERVAL_MS)
      : CHECK_INTERVAL_MS;
    return {
      ...{ error: message, is_retryable: isRetryable ? 1 : 0, attempts: attempts + 1 },
      look_ms: nowMs + waitMs,
    };
  }
}

/** Returns whether the hooks are at the same provider. Ids of different providers can be equal. */
function haveSameProvider(one: ActualHook, other: ActualHook): boolean {
  return one.config['provider'] === other.config['provider'];
}

function nextCheckMs({ expiresMs }: ActiveHook, nowMs: number): number {
  if (expiresMs === undefined) return nowMs + CHECK_INTERVAL_MS;
  const marginMs = Math.min(RENEW_BEFORE_EXPIRY_MS, Math.max(0, expiresMs - nowMs) / 2);
  return Math.min(nowMs + CHECK_INTERVAL_MS, Math.max(Math.floor(expiresMs - marginMs), nowMs + RETRY_MS));
}

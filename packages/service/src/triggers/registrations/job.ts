import type { JsonObject } from '@heddle/core';
import { BlockError, isBlockError } from '@heddle/core/blocks';
import type { TenantCredentials } from '@heddle/engine';
import type { Kysely } from 'kysely';
import type { Sealer } from '../../sealing.ts';
import { AuditStore } from '../../store/audit.ts';
import { retryDelayMs } from '../fire.ts';
import { shortenMessage, isTimeout } from '../health.ts';
import type {
  ActiveWebhookRegistration,
  WebhookRegistrationContext,
  WebhookRegistrar,
} from '@heddle/engine/triggers';
import type { TriggerType } from '../types.ts';
import { MAX_RETRY_MS, RETRY_MS } from './retry.ts';
import { newRegistrationSecret, openSecret, sealSecret } from './secret.ts';
import type { WebhookRegistrationTables } from './database.ts';
import type { WebhookRegistrationRow } from './tables.ts';
import type { ActualRegistration, DesiredRegistration } from './desired-registrations.ts';

type Db = Kysely<WebhookRegistrationTables>;

/** A registration is checked again after this time: it may have been removed at the provider. */
const CHECK_INTERVAL_MS = 24 * 3_600_000;
/** A registration is left at the provider after this many attempts to remove it, which take about 20 hours. */
const MAX_REMOVAL_ATTEMPTS = 30;
/** A registration is renewed this long before it expires, or after half of its lifetime if that is shorter. */
const RENEW_BEFORE_EXPIRY_MS = 24 * 3_600_000;
const UNKNOWN_FAILURE = 'The provider could not be called for the webhook.';

/** The dependencies of a registration job. */
export interface RegistrationServices {
  db: Db;
  types: ReadonlyMap<string, TriggerType>;
  sealer: Sealer;
  credentials: TenantCredentials | undefined;
  service: WebhookRegistrationContext['service'];
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

/** Reconciles the webhook registrations of one trigger, on which this process has a lease. */
export class RegistrationJob {
  readonly #services: RegistrationServices;
  readonly #row: WebhookRegistrationRow;
  readonly #signal: AbortSignal;
  #presentRegistrations: ActualRegistration[];
  #secret: string | undefined;
  readonly #auditEvents: AuditEvent[] = [];

  /** This process must hold the lease of `row`. */
  constructor(services: RegistrationServices, row: WebhookRegistrationRow, signal: AbortSignal) {
    this.#services = services;
    this.#row = row;
    this.#signal = signal;
    this.#presentRegistrations = JSON.parse(row.present) as ActualRegistration[];
  }

  /**
   * Creates the desired registration and removes all others, as far as possible, and records which registrations exist.
   */
  async run(): Promise<void> {
    const { wanted } = this.#row;
    const desiredRegistration = wanted === null ? undefined : (JSON.parse(wanted) as DesiredRegistration);
    let failure: Failure | undefined;
    let activeRegistration: ActiveWebhookRegistration | undefined;
    try {
      this.#secret = openSecret(this.#services.sealer, this.#row);
      const actualRegistration = desiredRegistration && this.#findOrAdd(desiredRegistration);
      // First: a registration without an id is identified only by its URL, so it could be mistaken for the desired
      // registration.
      await this.#removeAll(
        (registration) => registration !== actualRegistration && registration.hookId === null,
      );
      if (actualRegistration) activeRegistration = await this.#activate(actualRegistration);
    } catch (error) {
      failure = this.#failureOf(error);
    }
    try {
      const actualRegistration = desiredRegistration && this.#findOrAdd(desiredRegistration);
      await this.#removeAll(
        (registration) => registration !== actualRegistration && registration.hookId !== null,
      );
    } catch (error) {
      failure ??= this.#failureOf(error);
    }
    await this.#record(activeRegistration, failure);
  }

  /**
   * Returns the desired registration from the list of registrations that may exist. Adds the registration to the list
   * if it is missing.
   */
  #findOrAdd(desiredRegistration: DesiredRegistration): ActualRegistration {
    const place = this.#registrarOf(desiredRegistration).locationOf(desiredRegistration.config) ?? '';
    const existingRegistration = this.#presentRegistrations.find(
      (registration) => registration.place === place && registration.url === desiredRegistration.url,
    );
    const actualRegistration: ActualRegistration = existingRegistration ?? {
      ...desiredRegistration,
      place,
      hookId: null,
    };
    if (existingRegistration) Object.assign(existingRegistration, desiredRegistration);
    else this.#presentRegistrations.push(actualRegistration);
    return actualRegistration;
  }

  #registrarOf({ type: name }: DesiredRegistration): WebhookRegistrar {
    const type = this.#services.types.get(name);
    if (type?.kind === 'webhook' && type.registrar) return type.registrar;
    throw new BlockError('HOOK_FAILED', `This server has no triggers of the type ${name}.`);
  }

  async #activate(actualRegistration: ActualRegistration): Promise<ActiveWebhookRegistration> {
    const { sealer } = this.#services;
    this.#secret ??= newRegistrationSecret();
    // Recorded before the request to the provider: after a crash, the registration is found by its URL, and it signs
    // with this secret.
    const secretColumns = sealSecret(sealer, this.#row, this.#secret);
    if (actualRegistration.hookId === null && !(await this.#save(secretColumns)))
      throw new BlockError('HOOK_FAILED', 'Another process is changing the webhook.');
    const registrar = this.#registrarOf(actualRegistration);
    const isRenewal =
      this.#row.state === 'active' && actualRegistration.hookId !== null && registrar.renew !== undefined;
    const context = this.#createContext(actualRegistration);
    const activeRegistration = isRenewal
      ? await registrar.renew?.(actualRegistration.config, context)
      : await registrar.activate(actualRegistration.config, context);
    const result = activeRegistration as ActiveWebhookRegistration;
    if (actualRegistration.hookId !== result.id)
      this.#addAuditEvent('TRIGGER_HOOK_CREATED', actualRegistration);
    actualRegistration.hookId = result.id;
    this.#secret = result.secret ?? this.#secret;
    return result;
  }

  /**
   * Removes the obsolete registrations. A registration whose removal fails too often or is refused is left at the
   * provider.
   */
  async #removeAll(isObsolete: (registration: ActualRegistration) => boolean): Promise<void> {
    let lastFailure: Failure | undefined;
    for (const registration of this.#presentRegistrations.filter(isObsolete)) {
      try {
        if (!this.#isShared(registration)) {
          await this.#registrarOf(registration).deactivate(
            registration.config,
            this.#createContext(registration),
          );
          this.#addAuditEvent('TRIGGER_HOOK_REMOVED', registration);
        }
        this.#removeFromList(registration);
      } catch (error) {
        const failure = this.#failureOf(error);
        if (failure.isRetryable && this.#row.attempts < MAX_REMOVAL_ATTEMPTS) lastFailure = failure;
        else {
          this.#addAuditEvent('TRIGGER_HOOK_LEFT', registration, { error: failure.message });
          this.#removeFromList(registration);
        }
      }
    }
    if (!lastFailure) return;
    const { message, retryAfterMs } = lastFailure;
    throw new BlockError('HOOK_FAILED', message, retryAfterMs === undefined ? {} : { retryAfterMs });
  }

  /**
   * Returns whether another registration of the list is the same registration at the provider. This is possible because
   * two credentials can belong to one account.
   */
  #isShared(registration: ActualRegistration): boolean {
    if (registration.hookId === null) return false;
    return this.#presentRegistrations.some(
      (other) =>
        other !== registration &&
        haveSameProvider(other, registration) &&
        other.hookId === registration.hookId,
    );
  }

  #removeFromList(registration: ActualRegistration): void {
    this.#presentRegistrations = this.#presentRegistrations.filter((other) => other !== registration);
  }

  #createContext(registration: ActualRegistration): WebhookRegistrationContext {
    const { credentials, service, now } = this.#services;
    const { workspace_id: workspaceId } = this.#row;
    return {
      ...{
        url: registration.url,
        secret: this.#secret ?? '',
        registrationId: registration.hookId ?? undefined,
      },
      formerUrls: this.#presentRegistrations
        .filter(({ url }) => url !== registration.url)
        .map(({ url }) => url),
      otherRegistrationIds: this.#presentRegistrations.flatMap(({ hookId }) =>
        hookId === null || hookId === registration.hookId ? [] : [hookId],
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

  #addAuditEvent(action: string, { url, place }: ActualRegistration, details: JsonObject = {}): void {
    this.#auditEvents.push({ action, details: { place, host: new URL(url).host, ...details } });
  }

  /**
   * Writes which registrations may exist. Returns when the row is due; undefined if another process has claimed the row
   * after the lease expired. That process finds the registrations at the provider.
   */
  async #save(
    columns: Partial<WebhookRegistrationRow>,
    db: Db = this.#services.db,
  ): Promise<Pick<WebhookRegistrationRow, 'look_ms'> | undefined> {
    const { workflow_id, block_id, lease_id } = this.#row;
    return db
      .updateTable('provider_hooks')
      .set({ present: JSON.stringify(this.#presentRegistrations), ...columns })
      .where('workflow_id', '=', workflow_id)
      .where('block_id', '=', block_id)
      .where('lease_id', '=', lease_id)
      .returning('look_ms')
      .executeTakeFirst();
  }

  /**
   * Records which registrations may exist and ends the lease, in one transaction. Does not record the result of the
   * attempt if the desired registration has changed since the row was claimed.
   */
  async #record(
    activeRegistration: ActiveWebhookRegistration | undefined,
    failure: Failure | undefined,
  ): Promise<void> {
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
      const isDone = this.#row.wanted === null && this.#presentRegistrations.length === 0;
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
              activeRegistration,
              failure && { ...failure, isOutdated: this.#wasRescheduled(savedRow) },
            ),
          )
          .where('workflow_id', '=', workflow_id)
          .where('block_id', '=', block_id)
          .where('revision', '=', revision)
          .execute();
    });
  }

  /** Returns whether `retryRegistrations` has changed the due time since the row was claimed. */
  #wasRescheduled({ look_ms: dueMs }: Pick<WebhookRegistrationRow, 'look_ms'>): boolean {
    return dueMs !== null && Number(dueMs) !== this.#row.look_ms;
  }

  #columnsAfterAttempt(
    activeRegistration: ActiveWebhookRegistration | undefined,
    failure: Failure | undefined,
  ): Partial<WebhookRegistrationRow> {
    const nowMs = this.#services.now();
    const expiryColumns: Partial<WebhookRegistrationRow> = activeRegistration
      ? { expires_ms: activeRegistration.expiresMs ?? null }
      : {};
    const columns = { checked_ms: nowMs, ...expiryColumns };
    if (activeRegistration) {
      const change = { ...columns, state: 'active', active_ms: this.#row.active_ms ?? nowMs } as const;
      // Another registration could not be removed.
      if (failure) return { ...change, ...this.#retryColumns(failure, nowMs) };
      const look_ms = nextCheckMs(activeRegistration, nowMs);
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
  #retryColumns(failure: Failure, nowMs: number): Partial<WebhookRegistrationRow> {
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

/** Returns whether the registrations are at the same provider. Ids of different providers can be equal. */
function haveSameProvider(one: ActualRegistration, other: ActualRegistration): boolean {
  return one.config['provider'] === other.config['provider'];
}

function nextCheckMs({ expiresMs }: ActiveWebhookRegistration, nowMs: number): number {
  if (expiresMs === undefined) return nowMs + CHECK_INTERVAL_MS;
  const marginMs = Math.min(RENEW_BEFORE_EXPIRY_MS, Math.max(0, expiresMs - nowMs) / 2);
  return Math.min(nowMs + CHECK_INTERVAL_MS, Math.max(Math.floor(expiresMs - marginMs), nowMs + RETRY_MS));
}

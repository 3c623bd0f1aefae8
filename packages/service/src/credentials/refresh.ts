import { randomUUID } from 'node:crypto';
import { BlockError } from '@heddle/core/blocks';
import type { Sealer } from '../sealing.ts';
import { AuditStore } from '../store/audit.ts';
import type { Db as StoreDb } from '../store/database.ts';
import type { OAuthClients } from './oauth-clients.ts';
import { isInvalidGrant } from './oauth-clients.ts';
import type { OAuthMaterial } from './schemas.ts';
import { findCredentialRow, openMaterial } from './store.ts';
import type { CredentialKey, Db } from './store.ts';
import {
  acquireRefreshLease,
  markReconnectRequired,
  releaseRefreshLease,
  storeTokens,
} from './refresh-store.ts';
import type { CredentialRow } from './tables.ts';

/** The provider no longer accepts a credential: a person must connect the account again. */
export interface CredentialEvent {
  type: 'credential.reconnect';
  workspaceId: string;
  credentialId: string;
  name: string;
  provider: string;
}

export interface RefreshOptions {
  clients: OAuthClients;
  /** Receives each event once, in the process that detected it. */
  onEvent?: ((event: CredentialEvent) => void) | undefined;
  /** Receives failures of a refresh while the current token can still be used. */
  onError: (error: unknown) => void;
  now?: () => number;
  /** Waits before the next poll or the next attempt to store tokens. Default: a timer. */
  wait?: (ms: number) => Promise<void>;
}

/** A token is refreshed this long before it expires. */
const REFRESH_BEFORE_EXPIRY_MS = 60_000;
/** A token that expires within this time is no longer used: it could expire before it reaches the provider. */
const MIN_LIFETIME_MS = 5_000;
/** Duration of the lease of a refresh: longer than its requests may take. */
const REFRESH_LEASE_MS = 30_000;
/** Longer than the lease: if the process with the lease dies, a waiting caller acquires it and refreshes the token. */
const MAX_WAIT_MS = REFRESH_LEASE_MS + 5_000;
const POLL_MS = 250;
const MAX_STORE_ATTEMPTS = 5;

/** Refreshes access tokens before they expire. Over all processes, at most one refresh of a token runs at a time. */
export class TokenRefresher {
  readonly #db: Db;
  readonly #sealer: Sealer;
  readonly #audit: AuditStore;
  readonly #options: RefreshOptions;
  readonly #owner = randomUUID();
  readonly #runningRefreshes = new Map<string, Promise<OAuthMaterial | undefined>>();

  constructor(db: Db, sealer: Sealer, options: RefreshOptions) {
    this.#db = db;
    this.#sealer = sealer;
    this.#audit = new AuditStore(db as unknown as StoreDb);
    this.#options = options;
  }

  /**
   * Returns a valid token; undefined if the credential was removed. Throws CREDENTIAL_RECONNECT if a person must
   * connect the account again, and an Error if the token cannot be refreshed now.
   */
  async getToken(row: CredentialRow): Promise<OAuthMaterial | undefined> {
    if (row.state === 'reconnect') throw reconnectError(row);
    const currentToken = this.#openToken(row);
    if (!this.#needsRefresh(currentToken)) return currentToken;
    const key = { workspaceId: row.workspace_id, id: row.id };
    const mapKey = JSON.stringify([key.workspaceId, key.id]);
    let runningRefresh = this.#runningRefreshes.get(mapKey);
    if (!runningRefresh) {
      runningRefresh = this.#refresh(key).finally(() => this.#runningRefreshes.delete(mapKey));
      this.#runningRefreshes.set(mapKey, runningRefresh);
    }
    return runningRefresh;
  }

  /** Refreshes the token, or waits until another process has refreshed it. */
  async #refresh(key: CredentialKey): Promise<OAuthMaterial | undefined> {
    const deadlineMs = this.#now() + MAX_WAIT_MS;
    for (;;) {
      const leasedRow = await acquireRefreshLease(this.#db, key, this.#createLease());
      if (leasedRow) return this.#refreshWithLease(leasedRow);
      const row = await findCredentialRow(this.#db, key);
      if (!row) return undefined;
      if (row.state === 'reconnect') throw reconnectError(row);
      const currentToken = this.#openToken(row);
      // Another process is refreshing the token. This process uses the current token until it expires.
      if (this.#isUsable(currentToken)) return currentToken;
      if (this.#now() >= deadlineMs)
        throw new Error(`The token of the credential ${nameOf(row)} is being refreshed by another process.`);
      await this.#wait(POLL_MS);
    }
  }

  /** Refreshes the token of a row for which this process has the lease. */
  async #refreshWithLease(row: CredentialRow): Promise<OAuthMaterial | undefined> {
    const currentToken = this.#openToken(row);
    // Another process has refreshed the token between the check and the lease.
    if (!this.#needsRefresh(currentToken)) return this.#releaseLease(row, currentToken);
    const { refreshToken } = currentToken;
    if (refreshToken === undefined)
      return this.#isUsable(currentToken)
        ? this.#releaseLease(row, currentToken)
        : this.#requireReconnect(row);
    let newToken: OAuthMaterial;
    try {
      newToken = await this.#options.clients.refresh(row.provider_id, refreshToken);
    } catch (error) {
      if (isInvalidGrant(error)) return this.#requireReconnect(row);
      await releaseRefreshLease(this.#db, row, this.#owner);
      if (!this.#isUsable(currentToken)) throw refreshError(row, error);
      this.#options.onError(refreshError(row, error));
      return currentToken;
    }
    return (await this.#store(row, newToken)) ? newToken : this.#readChangedToken(row);
  }

  /** Stores new tokens, even if the database fails for a moment: the server may have replaced the refresh token. */
  async #store(row: CredentialRow, material: OAuthMaterial): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await storeTokens(this.#db, this.#sealer, { row, material, now: this.#isoNow() });
      } catch (error) {
        if (attempt === MAX_STORE_ATTEMPTS) throw error;
        await this.#wait(POLL_MS);
      }
    }
  }

  async #releaseLease(row: CredentialRow, currentToken: OAuthMaterial): Promise<OAuthMaterial> {
    await releaseRefreshLease(this.#db, row, this.#owner);
    return currentToken;
  }

  /**
   * Marks the credential for reconnection. If the token has changed since it was read, returns the new token instead.
   */
  async #requireReconnect(row: CredentialRow): Promise<OAuthMaterial | undefined> {
    const isMarked = await markReconnectRequired(this.#db, this.#audit, { row, now: this.#isoNow() });
    if (!isMarked) return this.#readChangedToken(row);
    this.#options.onEvent?.({
      type: 'credential.reconnect',
      workspaceId: row.workspace_id,
      credentialId: row.id,
      name: row.display_name,
      provider: row.provider_id,
    });
    throw reconnectError(row);
  }

  /** Returns the token that another process has stored in the meantime. */
  async #readChangedToken({
    workspace_id: workspaceId,
    id,
  }: CredentialRow): Promise<OAuthMaterial | undefined> {
    const row = await findCredentialRow(this.#db, { workspaceId, id });
    if (!row) return undefined;
    if (row.state === 'reconnect') throw reconnectError(row);
    const currentToken = this.#openToken(row);
    if (this.#isUsable(currentToken)) return currentToken;
    throw new Error(`The token of the credential ${nameOf(row)} expired while it was being refreshed.`);
  }

  #openToken(row: CredentialRow): OAuthMaterial {
    const material = openMaterial(this.#sealer, row);
    if (material.type === 'oauth') return material;
    throw new Error(`The credential ${nameOf(row)} has no token.`);
  }

  #createLease() {
    const now = this.#now();
    return { owner: this.#owner, now: toIso(now), expiresAt: toIso(now + REFRESH_LEASE_MS) };
  }

  #needsRefresh({ expiresMs }: OAuthMaterial): boolean {
    return expiresMs !== undefined && expiresMs - this.#now() < REFRESH_BEFORE_EXPIRY_MS;
  }

  #isUsable({ expiresMs }: OAuthMaterial): boolean {
    return expiresMs === undefined || expiresMs - this.#now() >= MIN_LIFETIME_MS;
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }

  #isoNow(): string {
    return toIso(this.#now());
  }

  #wait(ms: number): Promise<void> {
    const { wait } = this.#options;
    return wait ? wait(ms) : new Promise((resolve) => setTimeout(resolve, ms));
  }
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

function nameOf({ display_name: name, provider_id: provider }: CredentialRow): string {
  return `${JSON.stringify(name)} of ${provider}`;
}

function refreshError(row: CredentialRow, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(`The token of the credential ${nameOf(row)} cannot be refreshed: ${reason}`);
}

function reconnectError(row: CredentialRow): BlockError {
  return new BlockError(
    'CREDENTIAL_RECONNECT',
    `The credential ${nameOf(row)} is no longer accepted by the provider. Connect the account again.`,
    { retryable: false, details: { credentialId: row.id } },
  );
}

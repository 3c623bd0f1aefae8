// Times are milliseconds. PostgreSQL returns them as strings: see `registrationWithNumericTimes`.

/**
 * The registrations of a trigger at providers: the desired one, those that may exist, and the result of the last
 * attempt.
 */
export interface WebhookRegistrationRow {
  workflow_id: string;
  block_id: string;
  workspace_id: string;
  /** The id of the trigger, for the audit log. */
  trigger_id: string;
  /** The provider of the last desired registration, such as `github`. */
  provider: string;
  /** DesiredRegistration as JSON; null: the trigger needs no registration. */
  wanted: string | null;
  /** JSON array of ActualRegistration. */
  present: string;
  /** State of the desired registration. */
  state: 'preparing' | 'active' | 'failed' | 'removing';
  error: string | null;
  /** 1: a retry may succeed. */
  is_retryable: number;
  /** Counts changes to `wanted`. */
  revision: number;
  /** When the next work is due; null: no work is due. */
  look_ms: number | null;
  /** Number of failures since the last success, or since `wanted` was changed. */
  attempts: number;
  /** The id of the lease of the row, which expires at `lease_ms`. */
  lease_id: string | null;
  lease_ms: number | null;
  /** The secret with which the provider signs, as SealedValue. */
  key_id: string | null;
  sealed: string | null;
  /** When the provider removes the registration. */
  expires_ms: number | null;
  /** When the provider was last called. */
  checked_ms: number | null;
  /** When the desired registration became active. */
  active_ms: number | null;
}

const TIME_COLUMNS = ['look_ms', 'lease_ms', 'expires_ms', 'checked_ms', 'active_ms'] as const;

/** Returns the row with its times as numbers. */
export function registrationWithNumericTimes(row: WebhookRegistrationRow): WebhookRegistrationRow {
  const times = TIME_COLUMNS.map((name) => [name, row[name] === null ? null : Number(row[name])] as const);
  return {
    ...row,
    ...(Object.fromEntries(times) as Pick<WebhookRegistrationRow, (typeof TIME_COLUMNS)[number]>),
  };
}

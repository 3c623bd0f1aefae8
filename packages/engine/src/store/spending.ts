/**
 * A spending total: of an execution of a block, a run, a conversation or a tenant. The total of a conversation or
 * tenant may be limited to a window of time.
 */
export interface SpendingAccount {
  id: string;
  /** The maximum total, in millionths of a dollar. */
  capMicros: number;
  /** The time after which the total is no longer needed. */
  retainUntilMs: number;
}

/** A reservation for a call. All amounts are in millionths of a dollar. */
export interface NewReservation {
  id: string;
  accounts: readonly SpendingAccount[];
  /** The maximum cost of the call. Counts until the call is settled or the reservation expires. */
  maxMicros: number;
  /** The amount that counts once the reservation has expired. */
  expiredMicros: number;
  nowMs: number;
  expiresMs: number;
}

/** The account whose cap a reservation would exceed, and its total, including reserved amounts. */
export interface SpendingRefusal {
  account: string;
  micros: number;
}

/** Spending totals that never exceed their caps. `describeSpending` tests an implementation. */
export interface SpendingStore {
  /**
   * Reserves `maxMicros` in all accounts. If that would exceed the cap of one of them, reserves nothing and returns
   * that account. After a reservation has expired, only its `expiredMicros` counts.
   */
  reserve(reservation: NewReservation): Promise<SpendingRefusal | undefined> | SpendingRefusal | undefined;
  /** Extends a reservation, with a new `expiredMicros`. Does nothing if it is settled or has expired. */
  renew(id: string, renewal: { expiredMicros: number; expiresMs: number }): Promise<void> | void;
  /**
   * Replaces the amount of a reservation with the cost of the call, even after the reservation has expired. Does
   * nothing if the reservation is settled already.
   */
  settle(id: string, micros: number): Promise<void> | void;
  /** Returns the total of an account, including reserved amounts; 0 for an unknown account. */
  totalOf(account: string): Promise<number> | number;
  /** Removes accounts that are no longer needed, and their remaining reservations. */
  prune(nowMs: number): Promise<void> | void;
}

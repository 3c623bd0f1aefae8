import { createHash, randomUUID } from 'node:crypto';
import { BlockError } from '@heddle/core/blocks';
import type { RunHeader } from '@heddle/core';
import type { Place } from '@heddle/core/run';
import { idempotencyKeyOf } from '../executors/context.ts';
import type { Spending, SpendingRequest, SpendingReservation } from '../executors/services.ts';
import { wrapStoreErrors } from '../records/infrastructure-error.ts';
import type { SpendingAccount, SpendingStore } from '../store/spending.ts';
import { PRUNE_INTERVAL_MS, pruneHourly } from './prune-hourly.ts';
import type { RuntimeDependencies } from './runtime-dependencies.ts';
import { describeCapScope, formatDollars, windowAt } from './spending-caps.ts';
import type { Cap, SpendingCaps } from './spending-caps.ts';

/** A reservation expires after this time unless it is renewed, because its process may have died. */
const EXPIRY_MS = 60_000;
const RENEW_INTERVAL_MS = 15_000;
/** Retention time, after the last call, of the total for a cap without a window. */
const RETENTION_MS = 400 * 86_400_000;

/** The parts of a run that `createSpendingFactory` uses. */
interface SpendingRun {
  header: Pick<RunHeader, 'runId' | 'parent'>;
  tenant: () => Promise<string | undefined>;
}

type SpendingDependencies = Pick<RuntimeDependencies, 'stores' | 'clock' | 'maxCost' | 'onError'>;

/** A cap that applies to a call, and the account that it limits. */
interface AppliedCap extends SpendingAccount {
  scope: Cap['scope'];
  /** Absent: the cap has no window. */
  windowEndsMs?: number;
}

/** Returns a function that creates the `Spending` service of a block of the run. */
export function createSpendingFactory(
  dependencies: SpendingDependencies,
  run: SpendingRun,
): (place: Place, blockName: string) => Spending {
  let rootId: Promise<string> | undefined;
  const getRootId = (): Promise<string> => (rootId ??= findRootId(dependencies, run.header));
  return (place, blockName) => ({
    reserve: async (request) => {
      const caps = await appliedCaps(request, { dependencies, run, place, getRootId });
      if (caps.length === 0) return NO_RESERVATION;
      const { maxMicros, minMicros } = amountsOf(request, blockName);
      const exceededCap = caps.find(({ scope, capMicros }) => scope === 'call' && maxMicros > capMicros);
      if (exceededCap) throw capReachedError(exceededCap, { blockName, maxMicros, usedMicros: 0 });
      const accounts = caps.filter(({ scope }) => scope !== 'call');
      return accounts.length === 0
        ? NO_RESERVATION
        : reserve(dependencies, { accounts, maxMicros, minMicros, blockName });
    },
  });
}

/** Without caps, no reservation is necessary. */
const NO_RESERVATION: SpendingReservation = { reportCost: () => undefined, settle: async () => undefined };

async function appliedCaps(
  { maxBlockMicros, conversation }: SpendingRequest,
  {
    dependencies,
    run,
    place,
    getRootId,
  }: { dependencies: SpendingDependencies; run: SpendingRun; place: Place; getRootId: () => Promise<string> },
): Promise<AppliedCap[]> {
  const { maxCost, clock } = dependencies;
  const nowMs = clock.now();
  const retainUntilMs = nowMs + RETENTION_MS;
  const caps: AppliedCap[] = [];
  if (maxBlockMicros !== undefined) {
    const id = `block:${hashOf([idempotencyKeyOf(run.header.runId, place.block, place.scope)])}`;
    caps.push({ scope: 'block', id, capMicros: maxBlockMicros, retainUntilMs });
  }
  if (maxCost.call) caps.push({ scope: 'call', id: 'call', capMicros: maxCost.call.micros, retainUntilMs });
  if (maxCost.run)
    caps.push({ scope: 'run', id: `run:${await getRootId()}`, capMicros: maxCost.run.micros, retainUntilMs });
  if (!maxCost.conversation && !maxCost.tenant) return caps;
  const tenant = (await run.tenant()) ?? '';
  if (maxCost.conversation && conversation !== undefined)
    caps.push(windowedCap('conversation', hashOf([tenant, conversation]), maxCost.conversation, nowMs));
  if (maxCost.tenant) caps.push(windowedCap('workspace', hashOf([tenant]), maxCost.tenant, nowMs));
  return caps;
}

/** Returns a hash of the names, because ids of conversations, tenants and blocks are strings of any length. */
function hashOf(names: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(names)).digest('hex');
}

function windowedCap(
  scope: Cap['scope'],
  name: string,
  { micros, per }: NonNullable<SpendingCaps['tenant']>,
  nowMs: number,
): AppliedCap {
  const id = `${scope}:${name}`;
  if (per === undefined) return { scope, id, capMicros: micros, retainUntilMs: nowMs + RETENTION_MS };
  const { start, endsMs } = windowAt(per, nowMs);
  // Kept longer, because a call that began in the window may settle after its end.
  return {
    scope,
    id: `${id}:${start}`,
    capMicros: micros,
    retainUntilMs: endsMs + PRUNE_INTERVAL_MS,
    windowEndsMs: endsMs,
  };
}

/**
 * Returns the maximum and the minimum cost of a call. Throws SPENDING_PRICE_UNKNOWN for a call of unknown cost, which
 * could exceed every cap.
 */
function amountsOf(
  { cost, model }: SpendingRequest,
  blockName: string,
): { maxMicros: number; minMicros: number } {
  if (cost) return { maxMicros: Math.ceil(cost.maxMicros), minMicros: Math.ceil(cost.minMicros) };
  throw new BlockError(
    'SPENDING_PRICE_UNKNOWN',
    `The block "${blockName}" uses the model "${model}", whose price is unknown, and there is a cap on spending. Use a model with a price, or have the operator give one: --price ${model}=INPUT,OUTPUT.`,
    { retryable: false },
  );
}

async function reserve(
  dependencies: SpendingDependencies,
  {
    accounts,
    maxMicros,
    minMicros,
    blockName,
  }: { accounts: AppliedCap[]; maxMicros: number; minMicros: number; blockName: string },
): Promise<SpendingReservation> {
  const store = dependencies.stores.spending;
  const id = randomUUID();
  const nowMs = dependencies.clock.now();
  pruneHourly(dependencies, store, nowMs);
  const refusal = await wrapStoreErrors(() =>
    store.reserve({ id, accounts, maxMicros, expiredMicros: minMicros, nowMs, expiresMs: nowMs + EXPIRY_MS }),
  );
  if (!refusal) return new ActiveReservation(dependencies, { id, maxMicros, minMicros });
  const cap = accounts.find((account) => account.id === refusal.account) as AppliedCap;
  throw capReachedError(cap, { blockName, maxMicros, usedMicros: refusal.micros });
}

/** A reservation that is renewed until the call is settled. */
class ActiveReservation implements SpendingReservation {
  readonly #dependencies: SpendingDependencies;
  readonly #id: string;
  readonly #maxMicros: number;
  #minMicros: number;
  #cancelRenewal: () => void;

  constructor(
    dependencies: SpendingDependencies,
    { id, maxMicros, minMicros }: { id: string; maxMicros: number; minMicros: number },
  ) {
    this.#dependencies = dependencies;
    this.#id = id;
    this.#maxMicros = maxMicros;
    this.#minMicros = minMicros;
    this.#cancelRenewal = this.#renewLater();
  }

  reportCost(micros: number): void {
    this.#minMicros = Math.min(this.#maxMicros, Math.max(this.#minMicros, Math.ceil(micros)));
  }

  async settle(micros: number): Promise<void> {
    this.#cancelRenewal();
    await wrapStoreErrors(() => this.#store.settle(this.#id, Math.ceil(micros)));
  }

  get #store(): SpendingStore {
    return this.#dependencies.stores.spending;
  }

  #renewLater(): () => void {
    const { clock } = this.#dependencies;
    return clock.at(clock.now() + RENEW_INTERVAL_MS, () => {
      this.#cancelRenewal = this.#renewLater();
      void this.#renew();
    });
  }

  async #renew(): Promise<void> {
    const { clock, onError } = this.#dependencies;
    try {
      await this.#store.renew(this.#id, {
        expiredMicros: this.#minMicros,
        expiresMs: clock.now() + EXPIRY_MS,
      });
    } catch (error) {
      onError(error, undefined);
    }
  }
}

/** Returns the id of the root run of the call chain. All its descendants share its cap. */
async function findRootId(
  { stores }: SpendingDependencies,
  { runId, parent }: Pick<RunHeader, 'runId' | 'parent'>,
): Promise<string> {
  let id = runId;
  for (let ancestor = parent; ancestor;) {
    id = ancestor.runId;
    ancestor = (await wrapStoreErrors(async () => stores.runs.header(id)))?.parent;
  }
  return id;
}

function capReachedError(
  { scope, capMicros, windowEndsMs }: AppliedCap,
  { blockName, maxMicros, usedMicros }: { blockName: string; maxMicros: number; usedMicros: number },
): BlockError {
  const endsAt = windowEndsMs === undefined ? undefined : new Date(windowEndsMs).toISOString();
  const usedText = scope === 'call' ? '' : ` ${formatDollars(usedMicros)} of it is spent or reserved.`;
  const windowText = endsAt === undefined ? '' : ` The window ends at ${endsAt}.`;
  return new BlockError(
    'SPENDING_CAP_REACHED',
    `The next call of the block "${blockName}" can cost up to ${formatDollars(maxMicros)}, which would exceed the cap of ${formatDollars(capMicros)} ${describeCapScope(scope)}.${usedText}${windowText} Lower "maxTokens" of the block, shorten its prompt, or have the cap raised.`,
    {
      retryable: false,
      details: {
        cap: scope,
        capMicros,
        usedMicros,
        callMicros: maxMicros,
        windowEndsAt: endsAt ?? null,
      },
    },
  );
}

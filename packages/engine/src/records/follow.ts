import type { Clock, Plan, RunHeader, RunRecord } from '@heddle/core';
import { placeKey, RunState } from '@heddle/core/run';
import type { ApplyResult, Entry, IdleState, Place } from '@heddle/core/run';
import { emissionEvent } from './emissions.ts';
import type { StoredEmission } from './emissions.ts';
import { eventsOf, pausedEvent, loadEvent } from './run-events.ts';
import type { Values } from './values.ts';
import { parseStoredJson } from '../store/errors.ts';
import type { LiveEvent } from '../store/live-events.ts';
import type { SharedStores, TailableRunStore } from '../store/stores.ts';
import type { RunEvent } from '../types.ts';
import type { AppliedEntry } from './fold.ts';

const POLL_MS = 100;
/** Number of polls without new entries before `mayContinue` is called again. */
const POLLS_PER_CHECK = 10;

/** Maximum number of emissions per read. */
const EMISSION_PAGE_SIZE = 500;

interface FollowContext {
  stores: Pick<SharedStores, 'runs' | 'liveEvents'>;
  values: Values;
  clock: Clock;
  /** True while a process may execute the run. */
  mayContinue(): boolean;
  /** Aborted when the consumer stops. */
  signal?: AbortSignal;
}

/** The run to follow. */
interface FollowedDefinition {
  header: Pick<RunHeader, 'runId' | 'elsewhere'>;
  plan: Plan;
}

interface FollowStart {
  /** Starts after these entries; default: at the beginning. */
  pastEntries?: readonly Entry[];
  /** Starts after this emission; default 0. */
  emissionNumber?: number;
}

/**
 * Returns the events of a run, from its growing journal and from the emissions of its blocks: the same events as in the
 * executing process. An emission comes after the start of its block and before its end.
 */
export async function* follow(
  context: FollowContext,
  definition: FollowedDefinition,
  { pastEntries = [], emissionNumber = 0 }: FollowStart = {},
): AsyncGenerator<RunEvent> {
  const run = new FollowedRun(definition, pastEntries);
  const emissions = new FollowedEmissions(context.stores.liveEvents, run, emissionNumber);
  const stop = emissions.watch();
  try {
    yield* mergedEvents(context, run, emissions);
  } finally {
    stop();
  }
}

/**
 * Returns the events of a run after a position, up to the journal entry with the number `lastSeq`, with the emissions
 * of blocks until then. Throws JOURNAL_CORRUPT.
 */
export async function* eventsBetween(
  { stores, values }: Pick<FollowContext, 'stores' | 'values'>,
  definition: FollowedDefinition,
  position: EventPosition,
  lastSeq: number,
): AsyncGenerator<RunEvent> {
  // Does not read the journal, which may be long, if nothing is new since the position.
  const { runId } = definition.header;
  if (lastSeq <= position.seq && (await stores.liveEvents.lastNumber(runId)) <= position.emissionNumber)
    return;
  const journal = await stores.runs.journal(runId);
  const run = new FollowedRun(
    definition,
    journal.filter(({ seq }) => seq <= position.seq),
  );
  const entries = journal.filter(({ seq }) => seq > position.seq && seq <= lastSeq);
  const emissions = new FollowedEmissions(stores.liveEvents, run, position.emissionNumber);
  await emissions.read({ always: true });
  yield* newEvents(run, entries, { values, emissions });
}

/**
 * Returns the events of the journal and the emissions, until the run has ended or is paused for human input, or no
 * process executes it.
 */
async function* mergedEvents(
  context: FollowContext,
  run: FollowedRun,
  emissions: FollowedEmissions,
): AsyncGenerator<RunEvent> {
  let reportedState: IdleState = 'running';
  for (let idlePollCount = 0; !context.signal?.aborted; idlePollCount++) {
    const entries = await run.readNext(context.stores.runs);
    const { seq } = run.runState;
    const isCheckDue = idlePollCount % POLLS_PER_CHECK === 0;
    // Read after the entries: an emission is published before the entry that ends its block.
    await emissions.read({ always: isCheckDue || entries.length > 0 });
    yield* newEvents(run, entries, { values: context.values, emissions });
    const { runState } = run;
    const state = runState.idleState();
    if (state === 'ended') return;
    if (runState.seq > seq) {
      idlePollCount = -1;
      continue;
    }
    if (state !== reportedState) yield idleEvent(runState, state, context.clock.now());
    reportedState = state;
    if (state === 'human' || (isCheckDue && !context.mayContinue())) return;
    await waitForNextPoll(emissions.whenPublished(), context.clock);
  }
}

/** A position in the events of a run: the number of a journal entry, and of an emission. */
export interface EventPosition {
  seq: number;
  emissionNumber: number;
}

/** The position before the first event of a run. */
export const RUN_START: EventPosition = { seq: 0, emissionNumber: 0 };

/** Returns the current position in the events of a run. `record` may be older than the journal. */
export async function currentPosition(
  { runs, liveEvents }: FollowContext['stores'],
  record: Pick<RunRecord, 'runId' | 'seq'>,
): Promise<EventPosition> {
  const [newerEntries, emissionNumber] = await Promise.all([
    runs.tail(record.runId, record.seq),
    liveEvents.lastNumber(record.runId),
  ]);
  return { seq: newerEntries.at(-1)?.seq ?? record.seq, emissionNumber };
}

/** The context for a run whose plan is not read yet. */
interface DefinitionsContext extends FollowContext {
  definitions: { plan(hash: string): Promise<Plan> };
}

/** Returns the past and future events of a run after a position; no events if the run does not exist. */
export async function* eventsAfter(
  context: DefinitionsContext,
  runId: string,
  position: EventPosition,
): AsyncGenerator<RunEvent> {
  const { runs } = context.stores;
  const header = await runs.header(runId);
  if (!header) return;
  const plan = await context.definitions.plan(header.planHash);
  const pastEntries =
    position.seq === 0 ? [] : (await runs.journal(runId)).filter(({ seq }) => seq <= position.seq);
  yield* follow(context, { header, plan }, { pastEntries, emissionNumber: position.emissionNumber });
}

/** A run in the state that its follower has reached. */
class FollowedRun {
  readonly #definition: FollowedDefinition;
  #runState: RunState;
  /** Times of the entries that the run state includes, by their numbers. */
  #times: number[] = [];

  constructor(definition: FollowedDefinition, pastEntries: readonly Entry[]) {
    this.#definition = definition;
    this.#runState = this.#restart(pastEntries);
  }

  get runState(): RunState {
    return this.#runState;
  }

  /**
   * Returns the entries after those that the run state includes. If a lost task wrote some of these, and others have
   * replaced them, the run state first returns to the state before them.
   */
  async readNext(runs: TailableRunStore): Promise<Entry[]> {
    const { runId, seq } = this.#runState;
    if (!this.#mayBeReplaced || seq === 0) return runs.tail(runId, seq === 0 ? -1 : seq);
    const [lastEntry, ...nextEntries] = await runs.tail(runId, seq - 1);
    if (lastEntry?.atMs === this.#times[seq]) return nextEntries;
    const journal = await runs.journal(runId);
    const index = journal.findIndex((entry) => entry.atMs !== this.#times[entry.seq]);
    const keptCount = index === -1 ? journal.length : index;
    this.#restart(journal.slice(0, keptCount));
    return journal.slice(keptCount);
  }

  /** Applies the next entry. Returns undefined if another entry must first replace it. Throws JOURNAL_CORRUPT. */
  apply(entry: Entry): ApplyResult | undefined {
    const applyResult = this.#mayBeReplaced ? this.#runState.apply(entry) : this.#runState.replay(entry);
    if (!applyResult.changed) return undefined;
    this.#times[entry.seq] = entry.atMs;
    return applyResult;
  }

  /** True if the journal may contain entries of a lost task: another process drives the run. */
  get #mayBeReplaced(): boolean {
    return this.#definition.header.elsewhere === true;
  }

  #restart(entries: readonly Entry[]): RunState {
    const { header, plan } = this.#definition;
    this.#runState = new RunState(header.runId, plan);
    this.#times = [];
    for (const entry of entries) if (!this.apply(entry)) break;
    return this.#runState;
  }
}

/** The emissions of a run's blocks, for a follower of its journal. */
class FollowedEmissions {
  readonly #liveEvents: SharedStores['liveEvents'];
  readonly #run: FollowedRun;
  #lastReadNumber: number;
  /** Emissions that were read but not yielded yet. */
  #waitingEmissions: { number: number; key: string; emission: StoredEmission }[] = [];
  #hasUnreadEmissions = true;
  #wake: () => void = () => undefined;

  constructor(liveEvents: SharedStores['liveEvents'], run: FollowedRun, lastReadNumber: number) {
    this.#liveEvents = liveEvents;
    this.#run = run;
    this.#lastReadNumber = lastReadNumber;
  }

  /** Watches for published emissions. Returns a function that stops watching. */
  watch(): () => void {
    return this.#liveEvents.watch(this.#run.runState.runId, () => {
      this.#hasUnreadEmissions = true;
      this.#wake();
    });
  }

  /** Resolves when emissions were published since the last read. */
  whenPublished(): Promise<void> {
    return this.#hasUnreadEmissions ? Promise.resolve() : new Promise((resolve) => (this.#wake = resolve));
  }

  /** Reads the published emissions; unless `always`, only if something was published since the last read. */
  async read({ always }: { always: boolean }): Promise<void> {
    if (!always && !this.#hasUnreadEmissions) return;
    this.#hasUnreadEmissions = false;
    for (;;) {
      const page = await this.#liveEvents.read(
        this.#run.runState.runId,
        this.#lastReadNumber,
        EMISSION_PAGE_SIZE,
      );
      for (const event of page)
        this.#waitingEmissions.push({ ...event, key: event.place, emission: emissionOf(event) });
      this.#lastReadNumber = page.at(-1)?.number ?? this.#lastReadNumber;
      if (page.length < EMISSION_PAGE_SIZE) return;
    }
  }

  /** Yields the emissions up to the last one of the block whose attempt ends with the entry. */
  *takeBefore(entry: Entry): Generator<RunEvent> {
    if (!('block' in entry) || entry.block === undefined) return;
    const key = placeKey(entry as Place);
    // The next attempt of the block emits only after this entry.
    const lastIndex = this.#waitingEmissions.findLastIndex(
      (waitingEmission) => waitingEmission.key === key && waitingEmission.emission.seq < entry.seq,
    );
    yield* this.#take(lastIndex + 1);
  }

  /** Yields the emissions whose blocks have started, in the order of their numbers. */
  *takeDueEmissions(): Generator<RunEvent> {
    const { seq } = this.#run.runState;
    const end = this.#waitingEmissions.findIndex(({ emission }) => emission.seq > seq);
    yield* this.#take(end === -1 ? this.#waitingEmissions.length : end);
  }

  /** Yields all remaining emissions, because no others can follow. */
  *takeRemaining(): Generator<RunEvent> {
    yield* this.#take(this.#waitingEmissions.length);
  }

  *#take(count: number): Generator<RunEvent> {
    for (const { number, emission } of this.#waitingEmissions.splice(0, count))
      yield emissionEvent(this.#run.runState, number, emission);
  }
}

function emissionOf({ json, number }: LiveEvent): StoredEmission {
  return parseStoredJson<StoredEmission>(json, `event ${number}`);
}

/** Yields the events of new entries, and the emissions of blocks. */
async function* newEvents(
  run: FollowedRun,
  entries: readonly Entry[],
  sources: { values: Values; emissions: FollowedEmissions },
): AsyncGenerator<RunEvent> {
  const { emissions } = sources;
  yield* emissions.takeDueEmissions();
  for (const entry of entries) {
    yield* emissions.takeBefore(entry);
    const applyResult = run.apply(entry);
    if (!applyResult) return;
    yield* eventsAt(run.runState, { entry, applyResult }, sources);
    yield* emissions.takeDueEmissions();
  }
}

async function* eventsAt(
  runState: RunState,
  { entry, applyResult }: AppliedEntry,
  { values, emissions }: { values: Values; emissions: FollowedEmissions },
): AsyncGenerator<RunEvent> {
  for (const rawEvent of eventsOf(runState, entry, applyResult)) {
    if (rawEvent.type !== 'event') continue;
    if (rawEvent.event.type === 'run:ended') yield* emissions.takeRemaining();
    yield await loadEvent(rawEvent, values);
  }
}

function idleEvent(runState: RunState, state: Exclude<IdleState, 'ended'>, atMs: number): RunEvent {
  const { runId, pauses } = runState;
  return state === 'running'
    ? { type: 'run:resumed', runId, atMs }
    : pausedEvent(runId, atMs, state, [...pauses.values()]);
}

/** Resolves with `published`, or when it is time for the next poll. */
function waitForNextPoll(published: Promise<void>, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.at(clock.now() + POLL_MS, resolve);
    void published.then(() => {
      cancel();
      resolve();
    });
  });
}

import { createHash, createHmac } from 'node:crypto';
import { BlockError, EngineError, isBlockError, isEngineError } from '@heddle/core';
import type { EngineErrorCode, NewRun } from '@heddle/core';
import { placeKey } from '@heddle/core/run';
import type { Place, Replica } from '@heddle/core/run';
import type { Definitions } from '../definitions.ts';
import type { ChildRequest } from '../executors/services.ts';
import { Fault } from '../records/infrastructure-error.ts';
import type { TailableRunStore } from '../store/stores.ts';
import { callChainOf } from './call-chain.ts';
import type { RunRequest } from './run-start.ts';

/** One attempt of a block that runs a child. */
export interface ChildAttempt {
  place: Place;
  attempt: number;
}

/** A UUID of version 8 (RFC 9562). */
const CHILD_RUN_ID = /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i;

/** True for an id of the form that ids of child runs have: callers may not choose one. */
export function isChildRunId(runId: string): boolean {
  return CHILD_RUN_ID.test(runId);
}

/**
 * The id of a block's child run: the same for the same attempt of the same block, so that a parent that is recovered
 * finds the child that it started. Without the parent's key nobody can compute it and start a run with it first.
 */
export function childRunId(
  parent: Pick<NewRun, 'runId' | 'childKey'>,
  { place, attempt }: ChildAttempt,
): string {
  const { runId, childKey } = parent;
  // Runs that began before there were keys go on with the ids that their children have.
  const digest = childKey === undefined ? createHash('sha256') : createHmac('sha256', childKey);
  const hex = digest.update(`${runId}\n${placeKey(place)}\n${attempt}`).digest('hex');
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** True when the run's header names this parent and place: the engine wrote it when it started the child. */
export function isChildAt(
  { parent: recorded }: NewRun,
  parent: Pick<NewRun, 'runId'>,
  place: Place,
): boolean {
  return (
    recorded !== undefined &&
    recorded.runId === parent.runId &&
    placeKey({ block: recorded.block, scope: recorded.scope }) === placeKey(place)
  );
}

/**
 * The header of the child run that this attempt of a block has started; undefined: none yet. Throws CHILD_FAILED when
 * another run has the id: whoever made it must not answer for the child.
 */
export async function findChildRun(
  runs: Pick<TailableRunStore, 'header'>,
  parent: NewRun,
  child: ChildAttempt,
): Promise<NewRun | undefined> {
  const header = await runs.header(childRunId(parent, child));
  if (header && !isChildAt(header, parent, child.place)) throw foreignChild(header.runId);
  return header;
}

function foreignChild(runId: string): BlockError {
  return new BlockError(
    'CHILD_FAILED',
    `The child run cannot start: its id ${runId} belongs to a run that this block has not started. Run the workflow again.`,
    { retryable: true, details: { childRunId: runId } },
  );
}

/** The child runs that the run waits for: blocks that have called one, whether it is recorded yet or not. */
export function awaitedChildren({ replica }: { replica: Replica }): ChildAttempt[] {
  const { index } = replica;
  return replica
    .pendingCommands()
    .flatMap((command) =>
      command.type === 'run' && index.node(command.at).class === 'child'
        ? [{ place: index.placeOf(command.at), attempt: command.try }]
        : [],
    );
}

/** The headers of those of `children` that are recorded as child runs of `parent`. */
export async function recordedChildren(
  runs: Pick<TailableRunStore, 'header'>,
  parent: NewRun,
  children: readonly ChildAttempt[],
): Promise<NewRun[]> {
  const found: NewRun[] = [];
  for (const child of children) {
    const header = await runs.header(childRunId(parent, child));
    if (header && isChildAt(header, parent, child.place)) found.push(header);
  }
  return found;
}

/** The child run to start, of the version that was live when its block asked for it. Throws WORKFLOW_NOT_FOUND. */
export async function childRequest(
  definitions: Pick<Definitions, 'find'>,
  parent: NewRun,
  { place, attempt, request }: ChildAttempt & { request: ChildRequest },
): Promise<RunRequest> {
  const { workflowId, version } = request.workflow;
  const found = await definitions.find(workflowId, version);
  if (!found) throw new EngineError('WORKFLOW_NOT_FOUND', `The workflow ${workflowId} is gone.`);
  return {
    runId: childRunId(parent, { place, attempt }),
    plan: found.plan,
    version: found.version,
    input: request.input,
    start: found.plan.start,
    mocks: parent.mocks,
    parent: {
      runId: parent.runId,
      block: place.block,
      scope: place.scope,
      depth: (parent.parent?.depth ?? 0) + 1,
    },
    via: callChainOf(parent),
  };
}

/** What the caller of a child has done wrong: it fails the block. Anything else stops the run. */
const REFUSALS: ReadonlySet<string> = new Set<EngineErrorCode>([
  'WORKFLOW_NOT_FOUND',
  'WORKFLOW_INVALID',
  'INPUT_INVALID',
  'OPTIONS_INVALID',
]);

/** What `error` of a child means to the block that called it: its own failure, or a Fault. */
export function childFault(error: unknown): unknown {
  const refused = isBlockError(error) || (isEngineError(error) && REFUSALS.has(error.code));
  return refused ? error : new Fault(error);
}

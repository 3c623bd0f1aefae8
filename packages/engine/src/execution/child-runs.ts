import { createHash, createHmac } from 'node:crypto';
import { BlockError, EngineError, isBlockError, isEngineError } from '@heddle/core';
import type { EngineErrorCode, RunHeader, RunRecord } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import { placeKey } from '@heddle/core/run';
import type { Place, RunState } from '@heddle/core/run';
import type { Definitions } from '../definitions.ts';
import { toCallChainItem } from '../executors/call-chain.ts';
import type { ChildOutcome, ChildRequest } from '../executors/services.ts';
import { InfrastructureError } from '../records/infrastructure-error.ts';
import type { Values } from '../records/values.ts';
import type { TailableRunStore } from '../store/stores.ts';
import type { StartRequest } from './run-start.ts';

/** One call of a child run by an attempt of a block. */
export interface ChildAttempt {
  place: Place;
  attempt: number;
  /** The name of the call within the attempt; undefined: the block makes a single call. */
  call?: string | undefined;
}

/** A UUID of version 8 (RFC 9562). */
const CHILD_RUN_ID = /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i;

/** True for an id that has the form of child run ids. Callers may not choose such ids. */
export function isChildRunId(runId: string): boolean {
  return CHILD_RUN_ID.test(runId);
}

/**
 * Returns the id of a block's child run. It is the same for the same attempt of the same block, so that a recovered
 * parent finds the child that it started. It depends on the parent's key, so that no other caller can start a run with
 * this id first.
 */
export function childRunId(
  parent: Pick<RunHeader, 'runId' | 'childKey'>,
  { place, attempt, call }: ChildAttempt,
): string {
  const { runId, childKey } = parent;
  // The child run ids of runs that started before keys existed stay the same.
  const hash = childKey === undefined ? createHash('sha256') : createHmac('sha256', childKey);
  const callKey = call === undefined ? `${attempt}` : `${attempt}\n${call}`;
  const hex = hash.update(`${runId}\n${placeKey(place)}\n${callKey}`).digest('hex');
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** True if the run's header, which the engine wrote, names this parent, place and call. */
export function isChildAt(
  { parent: recordedParent }: RunHeader,
  parent: Pick<RunHeader, 'runId'>,
  { place, call }: Pick<ChildAttempt, 'place' | 'call'>,
): boolean {
  return (
    recordedParent !== undefined &&
    recordedParent.runId === parent.runId &&
    recordedParent.call === call &&
    placeKey({ block: recordedParent.block, scope: recordedParent.scope }) === placeKey(place)
  );
}

/**
 * Returns the header of the child run that this call has started; undefined if it has not started one.
 * Throws CHILD_FAILED if the id belongs to a run that this block did not start, whose result must not count as the
 * child's.
 */
export async function findChildRun(
  runs: Pick<TailableRunStore, 'header'>,
  parent: RunHeader,
  child: ChildAttempt,
): Promise<RunHeader | undefined> {
  const header = await runs.header(childRunId(parent, child));
  if (header && !isChildAt(header, parent, child)) throw foreignChildError(header.runId);
  return header;
}

function foreignChildError(runId: string): BlockError {
  return new BlockError(
    'CHILD_FAILED',
    `The child run cannot start: its id ${runId} belongs to a run that this block has not started. Run the workflow again.`,
    { retryable: true, details: { childRunId: runId } },
  );
}

/** True if an attempt in flight in `parent` waits for this child run, or will wait for it again after a restart. */
export function isAwaited(child: RunHeader, parent: { header: RunHeader; runState: RunState }): boolean {
  const { header, runState } = parent;
  const { index } = runState;
  return runState.pendingCommands().some((command) => {
    if (command.type !== 'run') return false;
    const attempt = {
      place: index.placeOf(command.at),
      attempt: command.try,
      call: child.parent?.call,
    };
    return isChildAt(child, header, attempt) && childRunId(header, attempt) === child.runId;
  });
}

/**
 * Returns the request that starts a child run, with the version that was live when the block looked the workflow up.
 * Throws WORKFLOW_NOT_FOUND.
 */
export async function childRequest(
  definitions: Pick<Definitions, 'find'>,
  parent: RunHeader,
  { place, attempt, call, request }: ChildAttempt & { request: ChildRequest },
): Promise<StartRequest> {
  const { workflowId, version } = request.workflow;
  const target = await definitions.find(workflowId, version);
  if (!target) throw new EngineError('WORKFLOW_NOT_FOUND', `The workflow ${workflowId} no longer exists.`);
  return {
    runId: childRunId(parent, { place, attempt, call }),
    plan: target.plan,
    version: target.version,
    input: request.input,
    start: target.plan.start,
    mocks: parent.mocks,
    parent: {
      runId: parent.runId,
      block: place.block,
      scope: place.scope,
      depth: (parent.parent?.depth ?? 0) + 1,
      ...(call !== undefined && { call }),
    },
    via: callChain(parent),
  };
}

/** Engine errors that fail the calling block, as a BlockError does. Any other error stops the run. */
const CALLER_ERROR_CODES: ReadonlySet<string> = new Set<EngineErrorCode>([
  'WORKFLOW_NOT_FOUND',
  'WORKFLOW_INVALID',
  'INPUT_INVALID',
  'OPTIONS_INVALID',
]);

/** Returns `error` if it fails the block that called the child, else an InfrastructureError. */
export function childError(error: unknown): unknown {
  const failsBlock = isBlockError(error) || (isEngineError(error) && CALLER_ERROR_CODES.has(error.code));
  return failsBlock ? error : new InfrastructureError(error);
}

/** Returns the call chain for the runs that a run starts: the workflows that led to it, then its own workflow. */
export function callChain({ via = [], workflowId }: Pick<RunHeader, 'via' | 'workflowId'>): string[] {
  return [...via, toCallChainItem(workflowId)];
}

/** Returns the outcome of an ended child run, for the block that called it. */
export async function childOutcome(
  runId: string,
  record: RunRecord | undefined,
  values: Values,
): Promise<ChildOutcome> {
  if (!record) throw new EngineError('RUN_NOT_FOUND', `The child run ${runId} has no record.`);
  if (record.status === 'completed') {
    const output = await values.load(record.output ?? { v: {} });
    return { status: 'completed', runId, output: isJsonObject(output) ? output : {} };
  }
  if (record.status === 'cancelled') return { status: 'cancelled', runId };
  const { error } = record;
  if (!error)
    return { status: 'failed', runId, error: { code: 'BLOCK_FAILED', message: 'The child run failed.' } };
  const { code, message, blockName, details } = error;
  return {
    status: 'failed',
    runId,
    error: {
      code,
      message,
      ...(blockName !== undefined && { blockName }),
      ...(details !== undefined && { details }),
    },
  };
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { EngineOptions } from '@heddle/engine';
import type { TemporalOptions } from '@heddle/temporal';
import { expect, onTestFinished } from 'vitest';
import { draftOf } from '../support/draft.ts';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';

const PROGRAM = fileURLToPath(new URL('process.ts', import.meta.url));
const MINUTE_MS = 60_000;
export const START_TIME_MS = Date.UTC(2026, 0, 1);
/** Long enough for the recovery of the runs of a killed process, which may have to wait until its lease expires. */
const POLL_OPTIONS = { timeout: 60_000, interval: 100 };

/** Options of the stores of the service and of the engine, and of Temporal. */
export interface Backend {
  store: { data?: string; postgres?: string };
  engine: Pick<EngineOptions, 'data' | 'postgres'>;
  temporal?: TemporalOptions;
}

export interface ProcessOptions extends Backend {
  nowMs: number;
  /** Creates webhooks at these providers. Counts as steps only writes of webhooks, and their results. */
  webhookRegistrations?: { origin: string; services: { [name: string]: string } };
  /** Starts runs of triggers without serving requests, like `heddle worker --triggers`. */
  isWorker?: true;
  /** Also counts each result of a statement as a step. */
  countsResults?: true;
  /** Counts as steps only writes from the end of a run to the runs that its event starts. */
  countsEvents?: true;
}

export interface Command {
  id: number;
  call:
    | 'createWorkspace'
    | 'request'
    | 'tick'
    | 'listTriggeredRuns'
    | 'countRuns'
    | 'deliver'
    | 'listDeliveries'
    | 'listItems'
    | 'stop';
  key?: string;
  request?: readonly [method: string, path: string, body?: unknown];
  /** For `tick`, which runs the background work: the new time. */
  nowMs?: number;
  /** The step at which the process is killed, counted from 1. */
  killStep?: number;
  /** For `tick`: the process still dies at the step that an earlier command has set. */
  keepsKillStep?: true;
  workflowId?: string;
  /** The path of a webhook, with the id of the delivery or the request to send. */
  path?: string;
  deliveryId?: string;
  deliveryRequest?: { headers?: { [name: string]: string }; body: string };
}

/** A run that a trigger has started. */
export interface TriggeredRun {
  workflowId: string;
  dueMs: number;
  version: number;
  status: string;
}

/** A process that fires triggers. */
export interface TriggerProcess {
  /** Sends a command to the process. Rejects if the process dies. */
  call<Value = unknown>(call: Command['call'], command?: Omit<Command, 'id' | 'call'>): Promise<Value>;
  isDead(): boolean;
}

/** Starts a process and resolves when it is ready. It is killed when the test has finished. */
export async function startProcess(options: ProcessOptions): Promise<TriggerProcess> {
  const child = spawn(process.execPath, ['--conditions=@heddle/source', PROGRAM, JSON.stringify(options)]);
  const exitPromise = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exitPromise;
  });
  let errorOutput = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errorOutput += text));
  child.stdin.on('error', () => undefined);
  const pendingCalls = new Map<number, PromiseWithResolvers<unknown>>();
  const readiness = Promise.withResolvers<void>();
  let isDead = false;
  child.once('exit', () => {
    isDead = true;
    const error = new Error(`The process has ended: ${errorOutput}`);
    for (const deferred of [readiness, ...pendingCalls.values()]) deferred.reject(error);
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as { ready?: true; id: number; value?: unknown; error?: string };
    if (message.ready) readiness.resolve();
    else if (message.error === undefined) pendingCalls.get(message.id)?.resolve(message.value);
    else pendingCalls.get(message.id)?.reject(new Error(message.error));
  });
  let lastId = 0;
  await readiness.promise;
  return {
    isDead: () => isDead,
    call: async (call, command = {}) => {
      if (isDead) throw new Error(`The process has ended: ${errorOutput}`);
      const id = ++lastId;
      const response = Promise.withResolvers<unknown>();
      pendingCalls.set(id, response);
      child.stdin.write(`${JSON.stringify({ ...command, id, call })}\n`);
      return (await response.promise) as never;
    },
  };
}

/** Deployed schedules, with an API key of their workspace. */
export interface DeployedSchedules {
  key: string;
  workflowIds: string[];
}

/** Deploys workflows that run each minute, through a process. */
export async function deployMinuteSchedules(
  process: TriggerProcess,
  count: number,
): Promise<DeployedSchedules> {
  const { key, workspaceId } = await process.call<{ key: string; workspaceId: string }>('createWorkspace');
  const workflowIds: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const fields = { scheduleType: 'minutes', minutesInterval: 1, missedRuns: 'all', missedLimit: 100 };
    const body = { workspaceId, name: `Each minute ${index}` };
    const request = ['POST', '/workflows', body] as const;
    const { id } = await process.call<{ id: string }>('request', { key, request });
    const draft = draftOf(createTriggerWorkflow(fields));
    await process.call('request', { key, request: ['PUT', `/workflows/${id}/state`, draft] });
    await process.call('request', { key, request: ['POST', `/workflows/${id}/deploy`] });
    workflowIds.push(id);
  }
  return { key, workflowIds };
}

/** Expects that each workflow has one completed run for each of the first `minuteCount` minutes, and no other run. */
export async function expectOneRunPerMinute(
  process: TriggerProcess,
  { workflowIds, minutes: minuteCount }: { workflowIds: readonly string[]; minutes: number },
): Promise<TriggeredRun[]> {
  const dueTimesMs = Array.from(
    { length: minuteCount },
    (_, index) => START_TIME_MS + (index + 1) * MINUTE_MS,
  );
  const readTriggeredRuns = async (): Promise<TriggeredRun[]> => {
    await process.call('tick');
    return process.call<TriggeredRun[]>('listTriggeredRuns');
  };
  const expected = workflowIds.map((id) => [id, dueTimesMs.map((dueMs) => [dueMs, 'completed'])]);
  const summaryOf = (triggeredRuns: readonly TriggeredRun[]) =>
    workflowIds.map((id) => [
      id,
      triggeredRuns.filter(({ workflowId }) => workflowId === id).map(({ dueMs, status }) => [dueMs, status]),
    ]);
  await expect.poll(async () => summaryOf(await readTriggeredRuns()), POLL_OPTIONS).toEqual(expected);
  for (const workflowId of workflowIds)
    expect(await process.call<number>('countRuns', { workflowId })).toBe(minuteCount);
  return process.call<TriggeredRun[]>('listTriggeredRuns');
}

/**
 * Advances the clock of a process to a due time, and kills the process at a step. Returns true if the process has died,
 * false if the runs completed before that step.
 */
export async function advanceAndKill(
  process: TriggerProcess,
  { nowMs, killStep }: { nowMs: number; killStep: number },
): Promise<boolean> {
  const ignoreIfDead = async <Value>(call: Promise<Value>): Promise<Value | undefined> =>
    call.catch((error: unknown) => {
      if (process.isDead()) return undefined;
      throw error;
    });
  await ignoreIfDead(process.call('tick', { nowMs, killStep }));
  const hasEnded = async (): Promise<boolean> => {
    const triggeredRuns = (await ignoreIfDead(process.call<TriggeredRun[]>('listTriggeredRuns'))) ?? [];
    const dueRuns = triggeredRuns.filter(({ dueMs }) => dueMs === nowMs);
    return process.isDead() || (dueRuns.length > 0 && dueRuns.every(({ status }) => status === 'completed'));
  };
  await expect.poll(hasEnded, POLL_OPTIONS).toBe(true);
  // From here on the process does not die, even if its work after the run reaches the step.
  await ignoreIfDead(process.call('tick', { nowMs }));
  return process.isDead();
}

export const timeAtMinute = (minute: number): number => START_TIME_MS + minute * MINUTE_MS;

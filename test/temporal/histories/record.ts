import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import proto from '@temporalio/proto';
import { repositoryFolder } from '../../repo/sources.ts';
import { HistoryReader } from '../replay/histories.ts';
import type { RunHistory, TemporalServer } from '../replay/histories.ts';
import { openEngine } from '../replay/open-engine.ts';
import { createGoldenExecutor } from './test-workflows.ts';
import type { TestWorkflow } from './test-workflows.ts';

const { History } = proto.temporal.api.history.v1;

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

/** Stored histories as JSON, newest run first: a child is before its parent. The histories of one run are in order. */
export type StoredHistories = { workflowId: string; history: { events: { [key: string]: unknown }[] } }[];

/** Returns the names of the stored histories. */
export function listStoredNames(): string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length))
    .toSorted();
}

export function readStoredHistories(name: string): StoredHistories {
  return JSON.parse(readFileSync(`${FOLDER}${name}.json`, 'utf8')) as StoredHistories;
}

/** Converts stored histories so that they can be replayed. */
export function toRunHistories(storedHistories: StoredHistories): RunHistory[] {
  return storedHistories.map(({ workflowId, history }) => ({
    workflowId,
    history: History.fromObject(history),
  }));
}

/** Replaces the stored histories of this name. Throws if they contain data of this machine. */
export function storeHistories(name: string, histories: readonly RunHistory[]): void {
  const storedHistories = histories.map(({ workflowId, history }) => ({
    workflowId,
    history: toPlainJson(history),
  }));
  const text = `${JSON.stringify(storedHistories)}\n`;
  const machineValue = findMachineData(text);
  if (machineValue !== undefined)
    throw new Error(`The history "${name}" has data of this machine: ${machineValue}`);
  writeFileSync(`${FOLDER}${name}.json`, text);
}

/** Removes histories without a test workflow. */
export function removeUnusedHistories(testWorkflows: readonly TestWorkflow[]): void {
  for (const name of listStoredNames())
    if (!testWorkflows.some((testWorkflow) => testWorkflow.name === name)) rmSync(`${FOLDER}${name}.json`);
}

function toPlainJson(history: RunHistory['history']): unknown {
  const json = History.toObject(History.fromObject(history), { bytes: String, longs: String, enums: String });
  const text = JSON.stringify(json, (key, value: unknown) => {
    if (key === 'identity') return 'worker';
    return key === 'stackTrace' ? '' : value;
  });
  // Names of sticky queues contain the process and the machine.
  return JSON.parse(text.replaceAll(/\d+@[^"]*?-(?=[0-9a-f]{32}|[0-9a-f-]{36})/g, 'worker-')) as unknown;
}

/** Returns a host name or path of this machine that is in the text or in its payloads; undefined if there is none. */
export function findMachineData(text: string): string | undefined {
  const payloads = [...text.matchAll(/"data":"([^"]*)"/g)].map(([, data = '']) =>
    Buffer.from(data, 'base64').toString(),
  );
  const machineData = [`@${hostname()}`, `${repositoryFolder}`, '/node_modules/', '/home/', '/root/'];
  return machineData.find((value) => [text, ...payloads].some((part) => part.includes(value)));
}

/** Runs the workflow on a server. Returns its histories and those of its children. */
export async function recordHistories(
  server: TemporalServer,
  testWorkflow: TestWorkflow,
  data: string,
): Promise<RunHistory[]> {
  const {
    workflow,
    children = [],
    options = {},
    finish,
    name,
    continueAsNewAfter,
    localSegments,
  } = testWorkflow;
  const scriptedExecutor = createGoldenExecutor();
  const { engine, close } = await openEngine(server, {
    data,
    options: { blocks: [scriptedExecutor.executor] },
    ...(continueAsNewAfter !== undefined && { continueAsNewAfter }),
    ...(localSegments !== undefined && { localSegments }),
  });
  const historyReader = await HistoryReader.connect(server);
  try {
    for (const child of children) await engine.deploy(child);
    const runId = `${name}-${randomUUID()}`;
    const run = await engine.start({ workflow }, { n: 2 }, { ...options, runId });
    if (name !== 'cancel') await run.result();
    await finish?.(engine, runId, scriptedExecutor);
    const { runs } = await engine.listRuns();
    const chains = await Promise.all(runs.map((run) => historyReader.readHistories(run.runId)));
    return chains.flat();
  } finally {
    await historyReader.close();
    await close();
  }
}

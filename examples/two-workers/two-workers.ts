// Kills a Temporal worker during a run; a second worker finishes the run. Needs a Temporal server, see README.md.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const HEDDLE_PATH = fileURLToPath(new URL('../bin/heddle.js', import.meta.resolve('heddle')));
const WORKFLOW_PATH = fileURLToPath(new URL('weave.json', import.meta.url));
/** Options for every command that connects to the server: `--address HOST:PORT`, `--namespace NAME`, `--queue NAME`. */
const SERVER_OPTIONS = process.argv.slice(2);

interface Row {
  colour: string;
  number: number;
}

type Command = ChildProcessByStdio<null, Readable, null>;

const runningCommands = new Set<Command>();
// No child process outlives this program, even if it fails.
process.once('exit', () => {
  for (const command of runningCommands) command.kill();
});

function startCommand(...args: string[]): Command {
  const command = spawn(process.execPath, [HEDDLE_PATH, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  runningCommands.add(command);
  command.once('exit', () => runningCommands.delete(command));
  return command;
}

/** Runs a command and returns the JSON that it prints. */
async function runHeddle<T>(...args: string[]): Promise<T> {
  return JSON.parse(await text(startCommand(...args).stdout)) as T;
}

async function startWorker(name: string): Promise<Command> {
  const worker = startCommand('worker', '--json', ...SERVER_OPTIONS);
  await once(worker.stdout, 'data');
  print(`${name}: process ${worker.pid} is ready`);
  return worker;
}

/** Returns the rows that are finished, from the block logs of the run. */
async function readWovenRows(runId: string): Promise<Row[]> {
  type Log = { blockName: string; status: string; output: { result: Row } };
  const { data } = await runHeddle<{ data: { logs: Log[] } }>('runs', 'show', runId, '--json');
  return data.logs
    .filter(({ blockName, status }) => blockName === 'Row' && status === 'completed')
    .map(({ output }) => output.result);
}

async function readNewestRunId(): Promise<string | undefined> {
  const { data } = await runHeddle<{ data: { runId: string }[] }>('runs', 'list', '--limit', '1', '--json');
  return data[0]?.runId;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

const previousRunId = await readNewestRunId();
const firstWorker = await startWorker('one');
const run = startCommand('run', WORKFLOW_PATH, '--runtime', 'temporal', '--no-worker', ...SERVER_OPTIONS);
const output = text(run.stdout);
const exitPromise = once(run, 'exit');

let runId: string | undefined;
while (runId === undefined || runId === previousRunId) {
  await sleep(200);
  runId = await readNewestRunId();
}
const secondWorker = await startWorker('two');
let wovenRows = await readWovenRows(runId);
while (wovenRows.length < 2) {
  await sleep(200);
  wovenRows = await readWovenRows(runId);
}
firstWorker.kill('SIGKILL');
print(`one: killed after it wove ${wovenRows.map(({ colour }) => colour).join(', ')}`);

const [exitCode] = (await exitPromise) as [number];
const { result } = JSON.parse(await output) as { result: Row[] };
print(`two: finished the run: ${result.map(({ colour }) => colour).join(', ')}`);
const repeatedRows = wovenRows.filter((row, index) => row.number !== result[index]?.number);
print(repeatedRows.length === 0 ? 'No row was woven twice.' : `Woven twice: ${JSON.stringify(repeatedRows)}`);
secondWorker.kill('SIGTERM');
await once(secondWorker, 'exit');
process.exitCode = exitCode === 0 && repeatedRows.length === 0 ? 0 : 1;

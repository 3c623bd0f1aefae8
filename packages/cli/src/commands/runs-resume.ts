import type { Json } from '@heddle/core';
import type { Engine, RunHandle } from '@heddle/engine';
import type { RunReader, FolderClient } from '@heddle/engine/reader';
import type { BlockOptions } from '../block-options.ts';
import { drive } from '../drive.ts';
import { withEngine } from '../engine-session.ts';
import { readEnv } from '../env.ts';
import { envValues } from '../input/env-values.ts';
import { jsonSource } from '../input/json-source.ts';
import type { Io } from '../io.ts';
import { ELSEWHERE, orElsewhere } from '../owner.ts';
import { isOnTemporal, withReader } from '../place.ts';
import type { PlaceOptions } from '../place.ts';
import { shellQuote } from '../render/format.ts';
import { safeLine, styleFor } from '../render/style.ts';
import type { RunOptions } from '../run-options.ts';
import { findRunId, shortId } from '../run-id.ts';
import { UsageError } from '../usage-error.ts';
import { withFolderClient } from '../with-folder-client.ts';
import { blockWords } from './run.ts';
import { followRun } from './runs-tail.ts';

export type ResumeOptions = Pick<RunOptions, 'input' | 'env' | 'envFile' | 'json' | 'select'> &
  BlockOptions &
  PlaceOptions & {
    point?: string;
  };

const ANSWER_MS = 10_000;

interface Request {
  runId: string;
  /** The pause to answer; undefined when the run is only to go on. */
  token: string | undefined;
  input: Json;
}

/** Answers a pause, or goes on with a run whose process has died, and follows it to its next rest. */
export async function resumeRun(io: Io, given: string, options: ResumeOptions): Promise<number> {
  const input = options.input === undefined ? {} : await jsonSource(io, '--input', options.input);
  const env = await envValues(options, readEnv());
  const onTemporal = isOnTemporal(options);
  const { request, plan } = await withReader(options, async (reader) => {
    const runId = await findRunId(reader, given, options);
    const token = await pointOf(reader, runId, options);
    return { request: { runId, token, input }, plan: await reader.planOf(runId) };
  });
  const sinceMs = Date.now();
  const go = (): Promise<number> =>
    // The other open runs are for who stays.
    withEngine(io, { ...options, env, takeUp: false }, async (engine) => {
      const handle = await goOn(engine, request, options.select);
      return drive(io, engine, handle, {
        ...options,
        plan,
        file: undefined,
        blockWords: blockWords(options),
        sinceMs,
      });
    });
  const exit = onTemporal ? await go() : await orElsewhere(go);
  return exit === ELSEWHERE ? askOwner(io, request, options) : exit;
}

/** The token of the pause to answer. Throws a usage error that lists the open ones when it is not clear which. */
async function pointOf(
  reader: RunReader,
  runId: string,
  { point, input }: ResumeOptions,
): Promise<string | undefined> {
  const run = await reader.getRun(runId);
  if (run.endedAt !== null) throw new UsageError(`Run ${shortId(runId)} has ended: it is ${run.status}.`);
  const open = run.pauses.filter(({ kind }) => kind === 'human');
  if (point !== undefined) return open.find(({ token }) => token.startsWith(point))?.token ?? point;
  const [only, second] = open;
  if (!only) {
    if (input === undefined) return undefined;
    throw new UsageError(
      `Nothing in run ${shortId(runId)} waits for an answer.`,
      'Without --input the run just goes on.',
    );
  }
  if (!second) return only.token;
  const list = open.map(({ token, blockName }) => `--point ${shellQuote(token)}  ${safeLine(blockName)}`);
  throw new UsageError(
    `Run ${shortId(runId)} waits at ${open.length} pauses.`,
    ['Say which one to answer:', ...list].join('\n  '),
  );
}

/** The run as it goes on; a refused answer rejects its result. A run that lacks a value is left as it is. */
async function goOn(
  engine: Engine,
  { runId, token, input }: Request,
  select: readonly string[],
): Promise<RunHandle> {
  const handle = await engine.attach(runId);
  const { suspended } = await engine.getRun(runId);
  if (suspended !== null)
    throw new UsageError(suspended, 'Nothing was done. Values are given by --env and --dotenv.');
  if (token === undefined) return handle;
  const result = engine.resume(runId, { token, input, ...(select.length > 0 && { select }) });
  return {
    runId,
    events: () => handle.events(),
    cancel: (reason) => handle.cancel(reason),
    result: () => result,
  };
}

/** The process that runs the folder has its own environment values: those given here would never reach it. */
async function askOwner(io: Io, request: Request, options: ResumeOptions): Promise<number> {
  const { runId, token, input } = request;
  const style = styleFor(io.stderr);
  const [given] = blockWords(options);
  if (!options.json && given !== undefined) {
    io.stderr.write(
      `${style.yellow('!')} Another process runs this folder with options of its own: ${given} is not used.\n`,
    );
  }
  return withFolderClient(options.data, async (client) => {
    if (token !== undefined) await answer(client, { runId, token, input });
    return followRun(io, client, { ...options, runId, blockWords: blockWords(options) });
  });
}

async function answer(
  client: FolderClient,
  { runId, token, input }: Request & { token: string },
): Promise<void> {
  const outcome = await client.request({ runId, kind: 'resume', payload: { token, input } }, ANSWER_MS);
  if (outcome.status === 'rejected') throw new UsageError(outcome.message);
  if (outcome.status === 'waiting') {
    throw new UsageError(
      'The process that runs the folder has not answered yet. The request stays, and will be answered.',
    );
  }
}

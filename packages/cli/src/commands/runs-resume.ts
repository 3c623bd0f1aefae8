import type { Json } from '@heddle/core';
import type { Engine, RunHandle } from '@heddle/engine';
import type { RunReader, FolderClient } from '@heddle/engine/reader';
import type { BlockOptions } from '../block-options.ts';
import { followRun } from '../follow-run.ts';
import { withEngine } from '../engine-session.ts';
import { readEnv } from '../env.ts';
import { decisionsOf } from '../input/decisions.ts';
import type { DecisionOptions } from '../input/decisions.ts';
import { readEnvValues } from '../input/env-values.ts';
import { readJsonOption } from '../input/json-source.ts';
import type { Io } from '../io.ts';
import { OTHER_PROCESS, tryAsOwner } from '../try-as-owner.ts';
import { isOnTemporal, withFolderClient, withReader } from '../store-options.ts';
import type { RuntimeOptions } from '../store-options.ts';
import { shellQuote } from '../render/format.ts';
import { sanitizeLine, styleFor } from '../render/style.ts';
import type { RunOptions } from '../run-options.ts';
import { findRunId, shortId } from '../run-id.ts';
import { UsageError } from '../usage-error.ts';
import { blockArgs } from './run.ts';
import { followRecordedRun } from './runs-tail.ts';

export type ResumeOptions = Pick<RunOptions, 'input' | 'env' | 'envFile' | 'json' | 'stream' | 'select'> &
  BlockOptions &
  DecisionOptions &
  RuntimeOptions & {
    point?: string;
  };

const RESPONSE_TIMEOUT_MS = 10_000;

interface ResumeRequest {
  runId: string;
  /** Token of the pause point to answer; undefined to continue the run without an answer. */
  token: string | undefined;
  input: Json;
}

/** Answers a paused run, or continues a run whose process died, and follows it until it pauses or ends. */
export async function resumeRun(io: Io, id: string, options: ResumeOptions): Promise<number> {
  const answer = await answerOf(io, options);
  const input = answer ?? {};
  const env = await readEnvValues(options, readEnv());
  const onTemporal = isOnTemporal(options);
  const { request, plan } = await withReader(options, async (reader) => {
    const runId = await findRunId(reader, id, options);
    const { point } = options;
    const token = await findPauseToken(reader, runId, { point, hasAnswer: answer !== undefined });
    return { request: { runId, token, input }, plan: await reader.planOf(runId) };
  });
  const sinceMs = Date.now();
  const resume = (): Promise<number> =>
    // This command ends with its run, so it does not continue other open runs.
    withEngine(io, { ...options, env, recover: false }, async (engine) => {
      const handle = await resumeWithEngine(engine, request, options.select);
      return followRun(io, engine, handle, {
        ...options,
        plan,
        file: undefined,
        blockArgs: blockArgs(options),
        sinceMs,
      });
    });
  const exitCode = onTemporal ? await resume() : await tryAsOwner(resume);
  return exitCode === OTHER_PROCESS ? requestResume(io, request, { ...options, sinceMs }) : exitCode;
}

/** Returns the answer from the options; undefined if there is none. Throws usage errors. */
async function answerOf(io: Io, options: ResumeOptions): Promise<Json | undefined> {
  const decisions = decisionsOf(options);
  if (options.input === undefined) return decisions;
  if (decisions) throw new UsageError('--input is the whole answer: omit --approve, --deny and --edit.');
  return readJsonOption(io, '--input', options.input);
}

/**
 * Returns the token of the pause point to answer; undefined to continue the run without an answer. Throws a usage error
 * if the run has ended, if nothing waits for the answer, or if several pause points are open.
 */
async function findPauseToken(
  reader: RunReader,
  runId: string,
  { point, hasAnswer }: { point: string | undefined; hasAnswer: boolean },
): Promise<string | undefined> {
  const run = await reader.getRun(runId);
  if (run.endedAt !== null) throw new UsageError(`Run ${shortId(runId)} has ended: it is ${run.status}.`);
  const pauses = run.pauses.filter(({ kind }) => kind === 'human');
  if (point !== undefined) return pauses.find(({ token }) => token.startsWith(point))?.token ?? point;
  const [firstPause, secondPause] = pauses;
  if (!firstPause) {
    if (!hasAnswer) return undefined;
    throw new UsageError(
      `Nothing in run ${shortId(runId)} waits for an answer.`,
      'Omit the answer to continue the run.',
    );
  }
  if (!secondPause) return firstPause.token;
  const choices = pauses.map(
    ({ token, blockName }) => `--point ${shellQuote(token)}  ${sanitizeLine(blockName)}`,
  );
  throw new UsageError(
    `Run ${shortId(runId)} waits at ${pauses.length} pause points.`,
    ['Choose the one to answer:', ...choices].join('\n  '),
  );
}

/**
 * Answers the run, or continues it without an answer. If the engine rejects the answer, `result()` of the returned
 * handle rejects. Throws a usage error if the run cannot continue.
 */
async function resumeWithEngine(
  engine: Engine,
  { runId, token, input }: ResumeRequest,
  select: readonly string[],
): Promise<RunHandle> {
  const handle = await engine.attach(runId);
  const { suspended } = await engine.getRun(runId);
  if (suspended !== null)
    throw new UsageError(suspended, 'The run is unchanged. Set values with --env or --dotenv.');
  if (token === undefined) return handle;
  const result = engine.resume(runId, { token, input, ...(select.length > 0 && { select }) });
  return {
    runId,
    events: () => handle.events(),
    cancel: (reason) => handle.cancel(reason),
    result: () => result,
  };
}

/** Sends the answer to the process that owns the data folder, which has its own environment values. */
async function requestResume(
  io: Io,
  request: ResumeRequest,
  options: ResumeOptions & { sinceMs: number },
): Promise<number> {
  const { runId, token, input } = request;
  const style = styleFor(io.stderr);
  const [option] = blockArgs(options);
  if (!options.json && option !== undefined) {
    io.stderr.write(
      `${style.yellow('!')} ${option} has no effect: another process owns this data folder and has its own options.\n`,
    );
  }
  return withFolderClient(options.data, async (client) => {
    if (token !== undefined) await submitAnswer(client, { runId, token, input });
    return followRecordedRun(io, client, { ...options, runId, blockArgs: blockArgs(options) });
  });
}

async function submitAnswer(
  client: FolderClient,
  { runId, token, input }: ResumeRequest & { token: string },
): Promise<void> {
  const payload = { token, input };
  const reply = await client.request({ runId, kind: 'resume', payload }, RESPONSE_TIMEOUT_MS);
  if (reply.status === 'rejected') throw new UsageError(reply.message);
  if (reply.status === 'waiting') {
    throw new UsageError(
      'The process that owns the data folder has not responded yet. The request is stored and will be processed.',
    );
  }
}

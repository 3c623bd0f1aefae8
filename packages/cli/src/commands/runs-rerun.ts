import type { Plan } from '@heddle/core';
import { followRun } from '../follow-run.ts';
import { withEngine } from '../engine-session.ts';
import { deployChildren } from '../input/children.ts';
import { readJsonOption } from '../input/json-source.ts';
import type { BindingOptions } from '../input/bindings.ts';
import { readWorkflow } from '../input/workflow-file.ts';
import type { Io } from '../io.ts';
import { withReader } from '../store-options.ts';
import { printPreflightWarnings } from '../preflight.ts';
import { reportInvalid } from '../render/diagnostics.ts';
import { findRunId } from '../run-id.ts';
import type { RunOptions } from '../run-options.ts';
import { UsageError } from '../usage-error.ts';
import {
  blockArgs,
  readEnvAndMocks,
  executeOptionsOf,
  requireSingleStdinUse,
  isRemoteOnly,
  warnAboutIgnoredOptions,
} from './run.ts';

export type RerunOptions = RunOptions & { from: string; iteration?: number[] };

/** Starts a new run at a block, with the outputs of an earlier run, in the same workflow or a changed one. */
export async function rerun(
  io: Io,
  { run, file }: { run: string; file: string | undefined },
  options: RerunOptions,
): Promise<number> {
  const isRemote = isRemoteOnly(options);
  warnAboutIgnoredOptions(io, options);
  requireFileToBind(file, options);
  requireSingleStdinUse(file, options);
  const earlierRun = await withReader(options, async (reader) => {
    const runId = await findRunId(reader, run, options);
    return { runId, plan: await reader.planOf(runId) };
  });
  const workflowFile = file === undefined ? undefined : await readWorkflow(io, file, options);
  if (workflowFile && !workflowFile.plan) return reportInvalid(io, workflowFile, options);
  const plan: Plan = workflowFile?.plan ?? earlierRun.plan;
  const { env, mocks } = await readEnvAndMocks(options);
  if (workflowFile && !options.json)
    printPreflightWarnings(io, {
      ...options,
      file: workflowFile,
      plan,
      env: isRemote ? undefined : env,
      mocks,
    });
  const input = options.input === undefined ? undefined : await readJsonOption(io, '--input', options.input);
  return withEngine(io, { ...options, env, recover: false }, async (engine) => {
    await deployChildren(io, engine, { ...options, file });
    const handle = await engine.runFromBlock(earlierRun.runId, options.from, {
      ...executeOptionsOf(options, mocks),
      ...(workflowFile && { workflow: { plan } }),
      ...(input !== undefined && { input }),
      ...(options.iteration && { iterations: options.iteration }),
    });
    return followRun(io, engine, handle, {
      ...options,
      plan,
      file,
      blockArgs: blockArgs(options),
      mocks,
    });
  });
}

/** Throws a usage error if there are values for fields, but no file: a rerun never changes the stored workflow. */
function requireFileToBind(file: string | undefined, { set = [], bindings = [] }: BindingOptions): void {
  if (file !== undefined || (set.length === 0 && bindings.length === 0)) return;
  throw new UsageError(
    '--set and --bindings fill fields of a file.',
    'Add the file after the id of the run.',
  );
}

import type { Json } from '@heddle/core';
import type { ExecuteOptions } from '@heddle/engine';
import { blockOptionArgs } from '../block-options.ts';
import type { BlockOptions } from '../block-options.ts';
import { followRun } from '../follow-run.ts';
import { withEngine } from '../engine-session.ts';
import { readEnv } from '../env.ts';
import { deployChildren } from '../input/children.ts';
import { readEnvValues } from '../input/env-values.ts';
import type { EnvOptions } from '../input/env-values.ts';
import { readJsonOption } from '../input/json-source.ts';
import { readMocks } from '../input/mocks.ts';
import { readWorkflow } from '../input/workflow-file.ts';
import type { Io } from '../io.ts';
import { isOnTemporal } from '../store-options.ts';
import { printPreflightWarnings } from '../preflight.ts';
import { styleFor } from '../render/style.ts';
import { reportInvalid } from '../render/diagnostics.ts';
import type { RunOptions } from '../run-options.ts';
import { UsageError } from '../usage-error.ts';

/** Runs a workflow from its file. */
export async function run(io: Io, file: string, options: RunOptions): Promise<number> {
  const isRemote = isRemoteOnly(options);
  warnAboutIgnoredOptions(io, options);
  requireSingleStdinUse(file, options);
  const workflowFile = await readWorkflow(io, file, options);
  const { plan } = workflowFile;
  if (!plan) return reportInvalid(io, workflowFile, options);
  const input = options.input === undefined ? {} : await readJsonOption(io, '--input', options.input);
  const { env, mocks } = await readEnvAndMocks(options);
  if (!options.json)
    printPreflightWarnings(io, {
      ...options,
      file: workflowFile,
      plan,
      env: isRemote ? undefined : env,
      mocks,
    });
  return withEngine(io, { ...options, env, recover: false }, async (engine) => {
    await deployChildren(io, engine, { ...options, file });
    const handle = await engine.start({ plan }, input, executeOptionsOf(options, mocks));
    return followRun(io, engine, handle, { ...options, plan, file, blockArgs: blockArgs(options), mocks });
  });
}

/** Throws a usage error if the workflow and the input both come from standard input. */
export function requireSingleStdinUse(file: string | undefined, { input }: Pick<RunOptions, 'input'>): void {
  if (file !== '-' || input !== '-') return;
  throw new UsageError(
    'Standard input cannot be both the workflow and its input.',
    'Use --input JSON or --input @FILE.',
  );
}

/** True if only workers in other processes execute the run. */
export function isRemoteOnly(options: RunOptions): boolean {
  return isOnTemporal(options) && options.worker === false;
}

/** Warns about block options of a remote run: workers have their own. */
export function warnAboutIgnoredOptions(io: Io, options: RunOptions): void {
  const [option] = blockArgs(options);
  if (!isRemoteOnly(options) || option === undefined || options.json) return;
  const mark = styleFor(io.stderr).yellow('!');
  io.stderr.write(`${mark} ${option} has no effect: workers have their own options.\n`);
}

/** Returns environment values and mocks from the options. */
export async function readEnvAndMocks(
  options: RunOptions,
): Promise<{ env: { [name: string]: string }; mocks: Json | undefined }> {
  return { env: await readEnvValues(options, readEnv()), mocks: await readMocks(options) };
}

/** Returns the options of a run for the engine. */
export function executeOptionsOf(options: RunOptions, mocks: Json | undefined): ExecuteOptions {
  return {
    ...(mocks !== undefined && { mocks }),
    ...(options.timeout !== undefined && { timeoutMs: options.timeout }),
    ...(options.select.length > 0 && { select: options.select }),
  };
}

/**
 * Returns the options about blocks as arguments of a later command. --env passes names only, so that values stay
 * out of the output.
 */
export function blockArgs(options: EnvOptions & BlockOptions): string[] {
  return [
    ...options.envFile.flatMap((file) => ['--dotenv', file]),
    ...options.env.flatMap((pair) => ['--env', pair.split('=', 1)[0] ?? pair]),
    ...blockOptionArgs(options),
  ];
}

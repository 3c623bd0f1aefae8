import type { Json } from '@heddle/core';
import type { ExecuteOptions } from '@heddle/engine';
import { drive } from '../drive.ts';
import { withEngine } from '../engine-session.ts';
import { readEnv } from '../env.ts';
import { deployChildren } from '../input/children.ts';
import { envValues } from '../input/env-values.ts';
import { jsonSource } from '../input/json-source.ts';
import { mocksOf } from '../input/mocks.ts';
import { readWorkflow } from '../input/workflow-file.ts';
import type { Io } from '../io.ts';
import { isOnTemporal } from '../place.ts';
import { preflight } from '../preflight.ts';
import { styleFor } from '../render/style.ts';
import { refuse } from '../refuse.ts';
import type { RunOptions } from '../run-options.ts';

/** Runs a workflow from its file: the file is the version that runs. */
export async function run(io: Io, file: string, options: RunOptions): Promise<number> {
  const elsewhere = runsElsewhere(io, options);
  const read = await readWorkflow(file, options);
  if (!read.plan) return refuse(io, read, options);
  const { plan } = read;
  const input = options.input === undefined ? {} : await jsonSource(io, '--input', options.input);
  const { env, mocks } = await surroundings(options);
  if (!options.json) preflight(io, { ...options, file: read, plan, env: elsewhere ? undefined : env, mocks });
  return withEngine(io, { ...options, env, takeUp: false }, async (engine) => {
    await deployChildren(io, engine, { ...options, file });
    const handle = await engine.start({ plan }, input, executeOptions(options, mocks));
    return drive(io, engine, handle, { ...options, plan, file, envOptions: envOptions(options), mocks });
  });
}

/** True when only workers of other processes run the run. Says then, for people, that values given here do not reach them. */
export function runsElsewhere(io: Io, options: RunOptions): boolean {
  const elsewhere = isOnTemporal(options) && options.worker === false;
  const given = options.env.length + options.envFile.length > 0;
  if (elsewhere && given && !options.json) {
    const mark = styleFor(io.stderr).yellow('!');
    io.stderr.write(`${mark} Workers have their own environment: values of --env do not reach them.\n`);
  }
  return elsewhere;
}

/** Environment values and mocks as the options give them. */
export async function surroundings(
  options: RunOptions,
): Promise<{ env: { [name: string]: string }; mocks: Json | undefined }> {
  return { env: await envValues(options, readEnv()), mocks: await mocksOf(options) };
}

/** What the engine has to know of a run beside workflow and input. */
export function executeOptions(options: RunOptions, mocks: Json | undefined): ExecuteOptions {
  return {
    ...(mocks !== undefined && { mocks }),
    ...(options.timeout !== undefined && { timeoutMs: options.timeout }),
    ...(options.select.length > 0 && { select: options.select }),
  };
}

/** The options that give a later command the same environment; values of single options are left to the shell. */
export function envOptions({ env, envFile }: Pick<RunOptions, 'env' | 'envFile'>): string[] {
  return [
    ...envFile.flatMap((file) => ['--env-file', file]),
    ...env.flatMap((pair) => ['--env', pair.split('=', 1)[0] ?? pair]),
  ];
}

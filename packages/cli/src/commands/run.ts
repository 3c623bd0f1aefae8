import type { Json } from '@heddle/core';
import type { ExecuteOptions } from '@heddle/engine';
import { egressWords } from '../block-options.ts';
import type { BlockOptions } from '../block-options.ts';
import { drive } from '../drive.ts';
import { withEngine } from '../engine-session.ts';
import { readEnv } from '../env.ts';
import { deployChildren } from '../input/children.ts';
import { envValues } from '../input/env-values.ts';
import type { EnvOptions } from '../input/env-values.ts';
import { jsonSource } from '../input/json-source.ts';
import { mocksOf } from '../input/mocks.ts';
import { readWorkflow } from '../input/workflow-file.ts';
import type { Io } from '../io.ts';
import { isOnTemporal } from '../place.ts';
import { preflight } from '../preflight.ts';
import { styleFor } from '../render/style.ts';
import { refuse } from '../refuse.ts';
import type { RunOptions } from '../run-options.ts';
import { UsageError } from '../usage-error.ts';

/** Runs a workflow from its file: the file is the version that runs. */
export async function run(io: Io, file: string, options: RunOptions): Promise<number> {
  const elsewhere = runsElsewhere(io, options);
  expectOneStdin(file, options);
  const read = await readWorkflow(io, file, options);
  if (!read.plan) return refuse(io, read, options);
  const { plan } = read;
  const input = options.input === undefined ? {} : await jsonSource(io, '--input', options.input);
  const { env, mocks } = await surroundings(options);
  if (!options.json) preflight(io, { ...options, file: read, plan, env: elsewhere ? undefined : env, mocks });
  return withEngine(io, { ...options, env, takeUp: false }, async (engine) => {
    await deployChildren(io, engine, { ...options, file });
    const handle = await engine.start({ plan }, input, executeOptions(options, mocks));
    return drive(io, engine, handle, { ...options, plan, file, blockWords: blockWords(options), mocks });
  });
}

/** Throws a usage error where both the workflow and the input are to be read from standard input. */
export function expectOneStdin(file: string | undefined, { input }: Pick<RunOptions, 'input'>): void {
  if (file !== '-' || input !== '-') return;
  throw new UsageError(
    'Standard input cannot be both the workflow and its input.',
    'Give the input as --input JSON or --input @FILE.',
  );
}

/** True when only workers of other processes run the run. Says then, for people, that values given here do not reach them. */
export function runsElsewhere(io: Io, options: RunOptions): boolean {
  const elsewhere = isOnTemporal(options) && options.worker === false;
  const given = blockWords(options)[0];
  if (elsewhere && given !== undefined && !options.json) {
    const mark = styleFor(io.stderr).yellow('!');
    io.stderr.write(`${mark} Workers have options of their own: ${given} does not reach them.\n`);
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

/** The options that give the blocks of a later command the same; values of single variables are left to the shell. */
export function blockWords(options: EnvOptions & BlockOptions): string[] {
  return [
    ...options.envFile.flatMap((file) => ['--dotenv', file]),
    ...options.env.flatMap((pair) => ['--env', pair.split('=', 1)[0] ?? pair]),
    ...egressWords(options),
  ];
}

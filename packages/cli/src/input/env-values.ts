import { parseEnv } from 'node:util';
import type { Env } from '../env.ts';
import { UsageError } from '../usage-error.ts';
import { readTextFile } from './json-source.ts';

export interface EnvOptions {
  /** `NAME=VALUE`, or `NAME` for the value from the shell. */
  env: readonly string[];
  /** Files in dotenv syntax. */
  envFile: readonly string[];
}

/** Returns the values of `{{NAME}}`: from files, then from single options. Later values take precedence. */
export async function readEnvValues(
  options: EnvOptions,
  processEnv: Env,
): Promise<{ [name: string]: string }> {
  const values = new Map<string, string>();
  for (const file of options.envFile) {
    for (const [name, value] of Object.entries(parseEnv(await readTextFile(file, '--dotenv')))) {
      if (value !== undefined) values.set(name, value);
    }
  }
  for (const pair of options.env) values.set(...parseEnvPair(pair, processEnv));
  return Object.fromEntries(values);
}

function parseEnvPair(pair: string, processEnv: Env): [string, string] {
  const separator = pair.indexOf('=');
  const name = separator === -1 ? pair : pair.slice(0, separator);
  if (name.trim() === '') {
    throw new UsageError(`--env ${pair} has no name.`, 'Use --env NAME=VALUE.');
  }
  if (separator !== -1) return [name, pair.slice(separator + 1)];
  const value = processEnv.value(name);
  if (value === undefined) {
    throw new UsageError(
      `--env ${name} takes its value from the shell, where ${name} is not set.`,
      `Use --env ${name}=VALUE, or export the variable first.`,
    );
  }
  return [name, value];
}

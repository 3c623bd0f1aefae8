import { parseEnv } from 'node:util';
import type { Env } from '../env.ts';
import { UsageError } from '../usage-error.ts';
import { readInput } from './json-source.ts';

export interface EnvOptions {
  /** `NAME=VALUE`, or `NAME` for the value that the shell has. */
  env: readonly string[];
  /** Files in dotenv syntax. */
  envFile: readonly string[];
}

/** Values of `{{NAME}}`: files first, in order, then single values, later ones winning. */
export async function envValues(options: EnvOptions, environment: Env): Promise<{ [name: string]: string }> {
  const values = new Map<string, string>();
  for (const file of options.envFile) {
    for (const [name, value] of Object.entries(parseEnv(await readInput(file, '--dotenv')))) {
      if (value !== undefined) values.set(name, value);
    }
  }
  for (const pair of options.env) values.set(...envPair(pair, environment));
  return Object.fromEntries(values);
}

function envPair(pair: string, environment: Env): [string, string] {
  const split = pair.indexOf('=');
  const name = split === -1 ? pair : pair.slice(0, split);
  if (name.trim() === '') {
    throw new UsageError(`--env ${pair} has no name.`, 'Give it as --env NAME=VALUE.');
  }
  if (split !== -1) return [name, pair.slice(split + 1)];
  const value = environment.value(name);
  if (value === undefined) {
    throw new UsageError(
      `--env ${name} asks for a variable of the shell, and ${name} is not set there.`,
      `Give its value, --env ${name}=VALUE, or export it first.`,
    );
  }
  return [name, value];
}

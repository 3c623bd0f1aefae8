import type { EngineOptions } from '@heddle/engine';
import type { IsolationLevel } from '@heddle/sandbox';
import { readEnv } from './env.ts';
import type { Env } from './env.ts';
import { UsageError } from './usage-error.ts';

/** What blocks may reach and use, as the options say. */
export interface BlockOptions {
  /** `HOST[:PORT]` or `CIDR[:PORT]`. */
  allowHost?: readonly string[];
  denyHost?: readonly string[];
  /** The level below which no code runs. */
  isolation?: IsolationLevel | undefined;
  /** Largest result of code as JSON, in MiB. */
  resultLimit?: number;
}

/** Isolates have 64 MiB, and no more than 256; a result exists there several times, as values and as text. */
const MEMORY = { least: 64, most: 256, perResultMiB: 12 };

const EXAMPLES = 'Write it like api.internal:8080, 10.1.0.0/16 or localhost:*.';

/** Where the egress of blocks may go: the options, and HEDDLE_ALLOW_HOSTS and HEDDLE_DENY_HOSTS beside them. Throws usage errors. */
export async function egressOf(
  { allowHost = [], denyHost = [] }: BlockOptions,
  env: Env,
): Promise<NonNullable<EngineOptions['egress']>> {
  const exceptions = [...allowHost, ...listed(env, 'HEDDLE_ALLOW_HOSTS')];
  const denyHosts = [...denyHost, ...listed(env, 'HEDDLE_DENY_HOSTS')];
  const all = [...exceptions, ...denyHosts];
  if (all.length > 0) {
    const { isDestination } = await import('@heddle/sandbox/egress');
    const wrong = all.find((text) => !isDestination(text));
    if (wrong !== undefined)
      throw new UsageError(`"${wrong}" is neither HOST[:PORT] nor CIDR[:PORT].`, EXAMPLES);
  }
  return {
    remedy: 'use --allow-host {target}',
    ...(exceptions.length > 0 && { exceptions }),
    ...(denyHosts.length > 0 && { denyHosts }),
  };
}

function listed(env: Env, name: string): string[] {
  return (env.value(name) ?? '').split(/[\s,]+/).filter((text) => text !== '');
}

/** What an engine or a worker runs blocks with. Throws usage errors. */
export async function blockOptions(
  options: BlockOptions,
): Promise<Required<Pick<EngineOptions, 'egress' | 'sandbox'>>> {
  const { isolation, resultLimit } = options;
  return {
    egress: await egressOf(options, readEnv()),
    sandbox: {
      ...(isolation !== undefined && { isolation: { minimum: isolation } }),
      ...(resultLimit !== undefined && { resultMiB: resultLimit, memoryMiB: memoryFor(resultLimit) }),
    },
  };
}

function memoryFor(resultMiB: number): number {
  return Math.min(MEMORY.most, Math.max(MEMORY.least, Math.ceil(MEMORY.perResultMiB * resultMiB)));
}

/** The options that allow a later command the same. */
export function egressWords({ allowHost = [], denyHost = [] }: BlockOptions): string[] {
  return [
    ...allowHost.flatMap((text) => ['--allow-host', text]),
    ...denyHost.flatMap((text) => ['--deny-host', text]),
  ];
}

import type { Json, Plan } from '@heddle/core';
import { isJsonObject, normalizeName, getOwn } from '@heddle/core/blocks';
import { UsageError } from '../usage-error.ts';
import { readJsonFile } from './json-source.ts';

export interface MockOptions {
  /** `TYPE=JSON`. */
  mock: readonly string[];
  /** Files of `{"blocks": {…}, "types": {…}}`. Entries of later files take precedence. */
  mocks: readonly string[];
}

type Mocks = { blocks: { [name: string]: Json }; types: { [type: string]: Json } };

/** Returns the mocks of a run; undefined if there are none. Single options take precedence over files. */
export async function readMocks(options: MockOptions): Promise<Json | undefined> {
  if (options.mock.length === 0 && options.mocks.length === 0) return undefined;
  const mocks: Mocks = { blocks: {}, types: {} };
  for (const file of options.mocks) merge(mocks, await readJsonFile('--mocks', file), file);
  for (const pair of options.mock) {
    const [type, value] = parseMockPair(pair);
    mocks.types[type] = value;
  }
  return mocks;
}

function merge(mocks: Mocks, json: Json, file: string): void {
  const object = typeof json === 'object' && json !== null && !Array.isArray(json) ? json : undefined;
  const [unknownKey] = Object.keys(object ?? {}).filter((key) => key !== 'blocks' && key !== 'types');
  if (!object || unknownKey !== undefined) {
    const reason = unknownKey === undefined ? 'they are not a JSON object' : `unknown key "${unknownKey}"`;
    throw new UsageError(
      `Invalid mocks in ${file}: ${reason}.`,
      'Example: {"blocks": {"My Agent": {"content": "…"}}, "types": {"slack": {"ok": true}}}',
    );
  }
  for (const key of ['blocks', 'types'] as const) Object.assign(mocks[key], object[key] ?? {});
}

function parseMockPair(pair: string): [string, Json] {
  const separator = pair.indexOf('=');
  const type = pair.slice(0, Math.max(0, separator)).trim();
  const example = `--mock slack='{"ok": true}'`;
  if (type === '') throw new UsageError(`--mock ${pair} has no block type.`, `Use TYPE=JSON: ${example}`);
  try {
    return [type, JSON.parse(pair.slice(separator + 1)) as Json];
  } catch (error) {
    throw new UsageError(
      `The mock of "${type}" is not JSON: ${(error as SyntaxError).message}`,
      `Use TYPE=JSON: ${example}`,
    );
  }
}

/** True if there is a mock for the block: by its id, its name or its type. */
export function isMocked(
  block: { id: string; name: string; type: string },
  mocks: Json | undefined,
): boolean {
  const names = keysOf(mocks, 'blocks');
  return names.some((name) => hasNameOrId(block, name)) || keysOf(mocks, 'types').includes(block.type);
}

/** Returns the block names and types of mocks that match no block of the plan. */
export function unusedMocks(plan: Plan, mocks: Json | undefined): { blocks: string[]; types: string[] } {
  const blocks = Object.values(plan.blocks);
  const types = new Set(blocks.map(({ type }) => type));
  return {
    blocks: keysOf(mocks, 'blocks').filter((name) => !blocks.some((block) => hasNameOrId(block, name))),
    types: keysOf(mocks, 'types').filter((type) => !types.has(type)),
  };
}

function hasNameOrId({ id, name }: { id: string; name: string }, key: string): boolean {
  return key === id || normalizeName(key) === normalizeName(name);
}

function keysOf(mocks: Json | undefined, kind: 'blocks' | 'types'): string[] {
  const entries = isJsonObject(mocks) ? getOwn(mocks, kind) : undefined;
  return isJsonObject(entries) ? Object.keys(entries) : [];
}

import type { Json } from '@heddle/core';
import { UsageError } from '../usage-error.ts';
import { jsonFile } from './json-source.ts';

export interface MockOptions {
  /** `TYPE=JSON`. */
  mock: readonly string[];
  /** Files of `{"blocks": {…}, "types": {…}}`; tables of later files win, name by name. */
  mocks: readonly string[];
}

type Tables = { blocks: { [name: string]: Json }; types: { [type: string]: Json } };

/** The mocks of a run as the engine takes them; undefined when there are none. Single values win over files. */
export async function mocksOf(options: MockOptions): Promise<Json | undefined> {
  if (options.mock.length === 0 && options.mocks.length === 0) return undefined;
  const tables: Tables = { blocks: {}, types: {} };
  for (const file of options.mocks) merge(tables, await jsonFile('--mocks', file), file);
  for (const pair of options.mock) {
    const [type, value] = mockPair(pair);
    tables.types[type] = value;
  }
  return tables;
}

function merge(tables: Tables, json: Json, file: string): void {
  const found = typeof json === 'object' && json !== null && !Array.isArray(json) ? json : undefined;
  const strangers = Object.keys(found ?? {}).filter((key) => key !== 'blocks' && key !== 'types');
  if (!found || strangers.length > 0) {
    const stranger = strangers[0] === undefined ? 'no object' : `an entry "${strangers[0]}"`;
    throw new UsageError(
      `The mocks in ${file} are not understood: ${stranger}.`,
      'Mocks look like {"blocks": {"My Agent": {"content": "…"}}, "types": {"slack": {"ok": true}}}.',
    );
  }
  for (const key of ['blocks', 'types'] as const) Object.assign(tables[key], found[key] ?? {});
}

function mockPair(pair: string): [string, Json] {
  const split = pair.indexOf('=');
  const type = pair.slice(0, Math.max(0, split)).trim();
  const example = `--mock slack='{"ok": true}'`;
  if (type === '')
    throw new UsageError(`--mock ${pair} names no block type.`, `Give it as TYPE=JSON: ${example}`);
  try {
    return [type, JSON.parse(pair.slice(split + 1)) as Json];
  } catch (error) {
    throw new UsageError(
      `The mock of "${type}" is not JSON: ${(error as SyntaxError).message}`,
      `Give it as TYPE=JSON: ${example}`,
    );
  }
}

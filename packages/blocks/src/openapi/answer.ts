import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { followPath, parsePath } from '@heddle/core/fields';
import type { ServiceTool } from './file.ts';

/** How an answer says that a call has failed. */
export interface Refusal {
  reason: string;
  /** The call has done nothing and may be repeated. */
  retry: boolean;
}

type Paging = NonNullable<ServiceTool['paging']>;

const REASON_CHARS = 500;

function at(data: Json, path: string): Json | undefined {
  return followPath(data, parsePath(path));
}

/** Returns what the body says about a failure, whatever the status is; undefined: nothing. */
export function failureIn({ answer }: Pick<ServiceTool, 'answer'>, data: Json): Refusal | undefined {
  if (!answer) return undefined;
  const { ok, error, retry = [] } = answer;
  const reason = error === undefined ? undefined : at(data, error);
  const isThere = reason !== undefined && reason !== null && !(Array.isArray(reason) && reason.length === 0);
  if (ok === undefined ? !isThere : at(data, ok) === true) return undefined;
  const text = isThere ? textOf(reason) : textOf(data);
  return {
    reason: text.slice(0, REASON_CHARS).toWellFormed(),
    retry: retry.some((each) => text.includes(each)),
  };
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the list of a page; an empty one if the page has none. */
export function itemsOf({ items }: Paging, data: Json): Json[] {
  const found = at(data, items);
  return Array.isArray(found) ? [...found] : [];
}

/** Returns the cursor of the next page; undefined after the last one. */
export function nextCursor(paging: Paging, data: Json): Json | undefined {
  const { cursor, more, of } = paging;
  if (more !== undefined && at(data, more) !== true) return undefined;
  const found = at(of === 'last' ? (itemsOf(paging, data).at(-1) ?? null) : data, cursor);
  return typeof found === 'number' || (typeof found === 'string' && found !== '') ? found : undefined;
}

/** Returns the result of a call: what `answer.output` maps. `items` are those of all pages. */
export function outputOf({ answer, paging }: ServiceTool, data: Json, items?: Json[]): Json {
  const output = answer?.output;
  const read = (path: string): Json => (items && path === paging?.items ? items : (at(data, path) ?? null));
  if (typeof output === 'string') return read(output);
  if (output !== undefined)
    return Object.fromEntries(Object.entries(output).map(([name, path]) => [name, read(path)])) as JsonObject;
  if (!items || !paging) return data;
  if (paging.of === 'last') return { items };
  return isJsonObject(data) ? { items, [lastOf(paging.cursor)]: at(data, paging.cursor) ?? null } : items;
}

function lastOf(path: string): string {
  return path.split(/[.[\]]+/).findLast((part) => part !== '') ?? path;
}

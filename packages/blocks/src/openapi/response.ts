import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { followPath, parsePath } from '@heddle/core/fields';
import type { ServiceTool } from './file.ts';

type Paging = NonNullable<ServiceTool['paging']>;

const MAX_REASON_CHARS = 500;

/** Returns the value at a path of a response; undefined if there is none. */
export function valueAt(data: Json, path: string): Json | undefined {
  return followPath(data, parsePath(path));
}

/** Returns the reason of the failure that the body reports, whatever the status; undefined if it reports none. */
export function failureReasonIn({ answer }: Pick<ServiceTool, 'answer'>, data: Json): string | undefined {
  if (!answer || (answer.ok === undefined && answer.error === undefined)) return undefined;
  const { ok, error } = answer;
  const reason = error === undefined ? undefined : valueAt(data, error);
  const hasReason =
    reason !== undefined && reason !== null && !(Array.isArray(reason) && reason.length === 0);
  if (ok === undefined ? !hasReason : valueAt(data, ok) === true) return undefined;
  return textOf(hasReason ? reason : data)
    .slice(0, MAX_REASON_CHARS)
    .toWellFormed();
}

/** Returns the code of a failure, for services that have such codes. */
export function codeIn({ answer }: Pick<ServiceTool, 'answer'>, data: Json): string | undefined {
  const code = answer?.code === undefined ? undefined : valueAt(data, answer.code);
  return code === undefined || code === null ? undefined : textOf(code);
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the list of a page; an empty one if the page has none. */
export function itemsOf({ items }: Paging, data: Json): Json[] {
  const found = items === undefined ? data : valueAt(data, items);
  return Array.isArray(found) ? [...found] : [];
}

/** Returns the cursor of the next page; undefined after the last one. */
export function nextCursor(paging: Extract<Paging, { cursor: string }>, data: Json): Json | undefined {
  const { cursor, more, of } = paging;
  if (more !== undefined && valueAt(data, more) !== true) return undefined;
  const found = valueAt(of === 'last' ? (itemsOf(paging, data).at(-1) ?? null) : data, cursor);
  return typeof found === 'number' || (typeof found === 'string' && found !== '') ? found : undefined;
}

/** Returns the result of a call, mapped by `answer.output`. `items` are the items of all pages. */
export function outputOf({ answer, paging }: ServiceTool, data: Json, items?: Json[]): Json {
  const output = answer?.output;
  const read = (path: string): Json =>
    items && path === paging?.items ? items : (valueAt(data, path) ?? null);
  if (typeof output === 'string') return read(output);
  if (output !== undefined)
    return Object.fromEntries(Object.entries(output).map(([name, path]) => [name, read(path)])) as JsonObject;
  if (!items || !paging) return data;
  if (paging.items === undefined) return items;
  if (paging.by !== undefined || paging.of === 'last') return { items };
  return isJsonObject(data)
    ? { items, [lastSegment(paging.cursor)]: valueAt(data, paging.cursor) ?? null }
    : items;
}

function lastSegment(path: string): string {
  return path.split(/[.[\]]+/).findLast((segment) => segment !== '') ?? path;
}

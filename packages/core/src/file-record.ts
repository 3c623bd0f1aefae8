import { isJsonObject, own } from './json.ts';
import type { Json, JsonObject } from './json.ts';
import { followPath } from './refs/path.ts';
import type { PathStep } from './refs/template.ts';

/** A file as blocks see it: what it is, and the key that its content is kept under. `size` in bytes. */
export interface FileRecord {
  id: string;
  name: string;
  size: number;
  /** Media type. */
  type: string;
  key: string;
}

/** What a path reads of a file that stands nowhere in the data: its content. */
const CONTENT = 'base64';

const MOST_ID_CHARACTERS = 256;
const KEY = /^sha256:[0-9a-f]{64}$/;

/** True for what has the form of a file's record; whether something is kept under its key is another question. */
export function isFileRecord(value: Json | undefined): value is FileRecord & JsonObject {
  if (!isJsonObject(value)) return false;
  const [id, name, type, key] = ['id', 'name', 'type', 'key'].map((field) => own(value, field));
  const size = own(value, 'size');
  if (typeof id !== 'string' || id === '' || id.length > MOST_ID_CHARACTERS) return false;
  if (typeof name !== 'string' || typeof type !== 'string') return false;
  return typeof key === 'string' && KEY.test(key) && Number.isSafeInteger(size) && Number(size) >= 0;
}

/** The records of files in a value, in order, each id once. */
export function filesIn(value: Json): FileRecord[] {
  const found = new Map<string, FileRecord>();
  collect(value, found);
  return [...found.values()];
}

function collect(value: Json, found: Map<string, FileRecord>): void {
  if (typeof value !== 'object' || value === null) return;
  if (isFileRecord(value) && !found.has(value.id)) found.set(value.id, value);
  for (const part of Object.values(value)) collect(part, found);
}

/**
 * The value with `base64` in the records for which there is content; what has none is the same object as before.
 * `contentOf` is asked for each record, also for one that stands there twice.
 */
export function withContents(value: Json, contentOf: (file: FileRecord) => string | undefined): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => withContents(item, contentOf));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const content = isFileRecord(value) ? contentOf(value) : undefined;
  const entries = Object.entries(value).map(([key, part]): [string, Json] => [
    key,
    withContents(part, contentOf),
  ]);
  const changed = entries.some(([key, part]) => part !== value[key]);
  if (content === undefined && !changed) return value;
  return { ...Object.fromEntries(entries), ...(content !== undefined && { [CONTENT]: content }) };
}

/** The record whose content the path asks for: `files[0].base64`, where the file has no such field of its own. */
export function fileToRead(value: Json | undefined, path: readonly PathStep[]): FileRecord | undefined {
  const at = path.indexOf(CONTENT);
  if (at < 0) return undefined;
  const file = followPath(value, path.slice(0, at));
  return isFileRecord(file) && !Object.hasOwn(file, CONTENT) ? file : undefined;
}

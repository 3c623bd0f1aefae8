import { isJsonObject, getOwn } from './json.ts';
import type { Json, JsonObject } from './json.ts';
import { followPath } from './refs/path.ts';
import type { PathStep } from './refs/template.ts';

/** A file in the data of blocks: its description, and the key of its stored content. `size` is in bytes. */
export interface FileRecord {
  id: string;
  name: string;
  size: number;
  /** Media type. */
  type: string;
  key: string;
  /** Keys of the parts of a large file. Stores keep these parts as long as a file record in a run names them. */
  parts?: string[];
}

/** Maximum size of a file in an input, and of a file that is read as a whole. Larger files can only be streamed. */
export const MAX_FILE_BYTES = 20 * 2 ** 20;

/** The field that reads a file's content, which is not part of the data. */
const CONTENT_FIELD = 'base64';

const MAX_ID_CHARACTERS = 256;
const KEY_PATTERN = /^sha256:[0-9a-f]{64}$/;

/** Returns true if the value has the shape of a file record. Its content may still be missing. */
export function isFileRecord(value: Json | undefined): value is FileRecord & JsonObject {
  if (!isJsonObject(value)) return false;
  const [id, name, type, key] = ['id', 'name', 'type', 'key'].map((field) => getOwn(value, field));
  const size = getOwn(value, 'size');
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID_CHARACTERS) return false;
  if (typeof name !== 'string' || typeof type !== 'string') return false;
  return typeof key === 'string' && KEY_PATTERN.test(key) && Number.isSafeInteger(size) && Number(size) >= 0;
}

/** Returns the file records in a value, in order, without repeated ids. */
export function filesIn(value: Json): FileRecord[] {
  const files = new Map<string, FileRecord>();
  collectFiles(value, files);
  return [...files.values()];
}

function collectFiles(value: Json, files: Map<string, FileRecord>): void {
  if (typeof value !== 'object' || value === null) return;
  if (isFileRecord(value) && !files.has(value.id)) files.set(value.id, value);
  for (const nestedValue of Object.values(value)) collectFiles(nestedValue, files);
}

/**
 * Returns the value with `base64` added to the file records that have content. Unchanged values keep their identity.
 * Calls `contentOf` for every occurrence of a record.
 */
export function withContents(value: Json, contentOf: (file: FileRecord) => string | undefined): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => withContents(item, contentOf));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const content = isFileRecord(value) ? contentOf(value) : undefined;
  const entries = Object.entries(value).map(([key, nestedValue]): [string, Json] => [
    key,
    withContents(nestedValue, contentOf),
  ]);
  const hasChanged = entries.some(([key, nestedValue]) => nestedValue !== value[key]);
  if (content === undefined && !hasChanged) return value;
  return { ...Object.fromEntries(entries), ...(content !== undefined && { [CONTENT_FIELD]: content }) };
}

/** Returns the record whose content the path reads (`files[0].base64`), unless the file has a field of this name. */
export function fileToRead(value: Json | undefined, path: readonly PathStep[]): FileRecord | undefined {
  const index = path.indexOf(CONTENT_FIELD);
  if (index < 0) return undefined;
  const file = followPath(value, path.slice(0, index));
  return isFileRecord(file) && !Object.hasOwn(file, CONTENT_FIELD) ? file : undefined;
}

const MAX_NAME_CHARACTERS = 255;
const MAX_TYPE_CHARACTERS = 127;
const UNKNOWN_TYPE = 'application/octet-stream';

/** Control characters, lone surrogates, and characters that change the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u202A-\u202E\u2066-\u2069]/gu;
const TRAILING_SURROGATE = /\p{Cs}$/u;
const MEDIA_TYPE = /^[a-z0-9][\w.+-]*\/[a-z0-9][\w.+*-]*(?:; ?[\w-]+=[\w.+-]+)*$/i;

/**
 * Returns a file name that is not a path and can be displayed: the text after the last slash, without control
 * characters.
 */
export function sanitizeFileName(text: string): string {
  const base = text.split(/[/\\]/).findLast((part) => part.trim() !== '') ?? '';
  const printableName = base.replaceAll(UNPRINTABLE, '_').trim();
  const name = printableName.slice(0, MAX_NAME_CHARACTERS).replace(TRAILING_SURROGATE, '');
  return /^\.*$/.test(name) ? 'file' : name;
}

/** Returns `text` if it is a media type, else `application/octet-stream`. */
export function toMediaType(text: string | undefined): string {
  const type = (text ?? '').trim();
  return type.length <= MAX_TYPE_CHARACTERS && MEDIA_TYPE.test(type) ? type : UNKNOWN_TYPE;
}

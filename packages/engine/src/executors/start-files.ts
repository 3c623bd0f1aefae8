import { EngineError, isJsonObject, own } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';

/**
 * The files of an input as a list of objects that each have a name: one object alone becomes a list, a URL becomes
 * `{name, url}`. Undefined when there are none. Throws INPUT_INVALID for anything else.
 */
export function normalizeFiles(files: Json | undefined): JsonObject[] | undefined {
  if (files === undefined || files === null || files === '') return undefined;
  const list = Array.isArray(files) ? files : [files];
  return list.map((file, index) => normalizeFile(file, index));
}

function normalizeFile(file: Json, index: number): JsonObject {
  if (typeof file === 'string' && URL.canParse(file)) return { name: nameOf(file), url: file };
  if (!isJsonObject(file)) {
    throw new EngineError(
      'INPUT_INVALID',
      `files[${index}] of the input is no file: give an object with a name, or a URL.`,
    );
  }
  const name = own(file, 'name');
  if (typeof name === 'string' && name !== '') return file;
  const url = own(file, 'url');
  if (typeof url === 'string' && url !== '') return { ...file, name: nameOf(url) };
  throw new EngineError('INPUT_INVALID', `files[${index}] of the input has neither a name nor a url.`);
}

function nameOf(url: string): string {
  const path = (url.split(/[?#]/, 1)[0] ?? '').split('/');
  return decode(path.at(-1) ?? '') || 'file';
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

import { getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { sanitizeFileName } from '@heddle/core/files';
import { invalidCallError } from '../failures.ts';

const MAX_PATH_CHARS = 4096;

/**
 * Returns the folder that an argument names, such as `/Reports/Q3%20Results`; undefined without one. Throws
 * TOOL_ARGUMENTS_INVALID for a path that a host could interpret as another path.
 */
export function parseFolderPath(args: JsonObject, name: string): string | undefined {
  const value = getOwn(args, name);
  if (value === undefined) return undefined;
  const path = typeof value === 'string' ? value.trim().replace(/(?<=[^/])\/$/, '') : '';
  if (path === '/') return path;
  if (path.startsWith('/') && path.length <= MAX_PATH_CHARS && path.slice(1).split('/').every(isSegment))
    return path;
  throw invalidCallError(
    `has an invalid folder ${JSON.stringify(stringOrEmpty(value).slice(0, 200))}: write a path such as /Reports/Q3%20Results, with a slash before each name and percent-encoded names`,
  );
}

/** Returns whether a segment of a path is a percent-encoded name: no slash or control character, and not only dots. */
function isSegment(segment: string): boolean {
  try {
    const name = decodeURIComponent(segment);
    return !/^\.*$/.test(name.trim()) && !/[/\\\p{Cc}]/u.test(name) && name.isWellFormed();
  } catch {
    return false;
  }
}

/** Returns the file name that an argument has. Throws TOOL_ARGUMENTS_INVALID for a path. */
export function parseFileName(value: Json | undefined): string {
  const name = stringOrEmpty(value).trim();
  if (name !== '' && sanitizeFileName(name) === name) return name;
  throw invalidCallError(
    `has an invalid file name ${JSON.stringify(name.slice(0, 100))}: a name has 1 to 255 characters, without slashes and control characters`,
  );
}

function stringOrEmpty(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

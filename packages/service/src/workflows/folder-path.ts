/** Maximum length of an encoded path. */
export const MAX_PATH_CHARACTERS = 4096;
/** Maximum number of segments of a path. */
export const MAX_SEGMENTS = 64;
/** Maximum length of a folder's name. */
const MAX_NAME_CHARACTERS = 255;

export const ROOT = '/';

/** An invalid path of a folder. The message describes the problem. */
export class FolderPathError extends Error {
  override readonly name = 'FolderPathError';
}

/**
 * Returns the canonical form of a path: a leading slash, and segments percent-encoded with upper-case hex digits for
 * everything besides letters, digits, `-`, `_`, `.` and `~`. A missing leading slash is added.
 *
 * @throws {FolderPathError} for a path that is not encoded in this way, or has empty, `.` or `..` segments.
 */
export function parseFolderPath(input: string): string {
  const path = input.startsWith('/') ? input : `/${input}`;
  if (path === ROOT) return ROOT;
  if (path.length > MAX_PATH_CHARACTERS) {
    throw new FolderPathError(`The path has more than ${MAX_PATH_CHARACTERS} characters`);
  }
  const segments = path.slice(1).split('/');
  if (segments.length > MAX_SEGMENTS) {
    throw new FolderPathError(`The path has more than ${MAX_SEGMENTS} folders`);
  }
  for (const segment of segments) requireValidSegment(segment);
  return path;
}

/** Returns the path of the parent of a folder. The root is its own parent. */
export function parentPath(path: string): string {
  const end = path.lastIndexOf('/');
  return end <= 0 ? ROOT : path.slice(0, end);
}

/** Returns the name of a folder; empty for the root. */
export function nameOfPath(path: string): string {
  return decodeURIComponent(path.slice(path.lastIndexOf('/') + 1));
}

/** Returns the folder and its ancestors, outermost first, without the root. */
export function pathAndAncestors(path: string): string[] {
  const paths: string[] = [];
  for (let currentPath = path; currentPath !== ROOT; currentPath = parentPath(currentPath))
    paths.push(currentPath);
  return paths.toReversed();
}

/** Returns true for a folder inside another one, at any depth. */
export function isInside(path: string, outerPath: string): boolean {
  return outerPath === ROOT ? path !== ROOT : path.startsWith(`${outerPath}/`);
}

/**
 * Returns the path of a folder after `oldPath` was renamed to `newPath`. `oldPath`: the folder itself or an ancestor.
 */
export function relocatePath(path: string, oldPath: string, newPath: string): string {
  return newPath + path.slice(oldPath.length);
}

function requireValidSegment(segment: string): void {
  if (segment === '') throw new FolderPathError('The path has an empty segment or a trailing slash');
  const name = decodeSegment(segment);
  if (name === undefined || encodeName(name) !== segment) {
    const encodedName = name === undefined ? undefined : encodeName(name);
    const hint = encodedName === undefined ? '' : `: write "${encodedName}"`;
    throw new FolderPathError(`The segment "${segment}" of the path is not percent-encoded${hint}`);
  }
  if (name === '.' || name === '..') throw new FolderPathError(`A folder cannot be named "${name}"`);
  if (name.trim() === '') throw new FolderPathError('A folder name must not be only white space');
  if (name.length > MAX_NAME_CHARACTERS)
    throw new FolderPathError(`A folder's name has at most ${MAX_NAME_CHARACTERS} characters`);
  if (/\p{Cc}/u.test(name)) throw new FolderPathError("A folder's name cannot have control characters");
}

function decodeSegment(segment: string): string | undefined {
  try {
    const name = decodeURIComponent(segment);
    // Throws for a lone surrogate, which has no encoding.
    encodeName(name);
    return name;
  } catch {
    return undefined;
  }
}

/** Returns the name in percent-encoding. */
export function encodeName(name: string): string {
  // encodeURIComponent does not encode these.
  return encodeURIComponent(name).replaceAll(
    /[!'()*]/g,
    (character) => `%${(character.codePointAt(0) as number).toString(16).toUpperCase()}`,
  );
}

import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';
import { sanitizeFileName, filesIn, MAX_FILE_BYTES } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import type { RunTenantFiles } from '@heddle/engine/tenant-data';
import type { Context } from '../../define.ts';
import { download } from '../../download.ts';
import { missingFeatureError, permanentError, invalidCallError } from '../failures.ts';

/** Maximum number of files of a call. */
export const MAX_FILES = 50;
const MAX_ID_CHARS = 256;

/** A file that an argument names. */
export type FileSource =
  | { kind: 'run'; record: FileRecord }
  | { kind: 'url'; url: URL }
  | { kind: 'workspace'; id: string };

/** Content of a file, in memory. */
export interface FileContent {
  name: string;
  /** Media type; undefined: unknown. */
  type: string | undefined;
  bytes: Uint8Array;
}

/** Returns the workspace files. Throws FEATURE_MISSING if the host stores none. */
export function workspaceFiles({ services, block }: Context): RunTenantFiles {
  if (services.tenantFiles) return services.tenantFiles;
  throw missingFeatureError(block, 'files');
}

/** Returns FILE_UNKNOWN. The error is the same for a file of another workspace. */
export function unknownFileError(name: string): ReturnType<typeof permanentError> {
  return permanentError(
    'FILE_UNKNOWN',
    `The workspace has no file ${JSON.stringify(name.slice(0, 100))}: it was deleted or never existed.`,
  );
}

/**
 * Returns the files that a value names: file records of the run, URLs, ids of workspace files, or a list of
 * them. Throws TOOL_ARGUMENTS_INVALID for anything else.
 */
export function sourcesOf(value: Json): FileSource[] {
  const values = Array.isArray(value) ? value : [value];
  if (values.length > MAX_FILES) throw invalidCallError(`has more than ${MAX_FILES} files`);
  return values.map(sourceOf);
}

function sourceOf(value: Json): FileSource {
  if (typeof value === 'string') return parseSource(value.trim());
  const [record] = filesIn(value);
  if (record && (record as unknown) === value) return { kind: 'run', record };
  const [id, url] = ['id', 'url'].map((name) => (isJsonObject(value) ? getOwn(value, name) : undefined));
  if (typeof id === 'string' && id !== '') return { kind: 'workspace', id: checkId(id) };
  if (typeof url === 'string' && url !== '') return parseSource(url);
  throw invalidCallError(
    'has a file that is neither a file of this run, nor a URL, nor the id of a workspace file. Files that were chosen in an editor are not part of an exported workflow',
  );
}

function parseSource(text: string): FileSource {
  const isUrl = /^[a-z][a-z0-9+.-]*:/i.test(text);
  if (!isUrl) return { kind: 'workspace', id: checkId(text) };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return { kind: 'url', url };
  throw invalidCallError('has a URL that does not begin with http:// or https://');
}

/** Returns the id. Throws TOOL_ARGUMENTS_INVALID for an id with slashes, which a host could interpret as a path. */
function checkId(text: string): string {
  if (text !== '' && text.length <= MAX_ID_CHARS && text.isWellFormed() && !/[/\\\p{Cc}]/u.test(text))
    return text;
  throw invalidCallError(
    `has a file ${JSON.stringify(text.slice(0, 100))}, which is neither a URL nor the id of a file: ids have up to ${MAX_ID_CHARS} characters, without slashes`,
  );
}

/** Returns the content of a file. `headers` are sent to URLs. Throws FILE_UNKNOWN, FILE_TOO_LARGE, HTTP_FAILED. */
export async function contentOf(
  context: Context,
  source: FileSource,
  headers: readonly [string, string][] = [],
): Promise<FileContent> {
  if (source.kind === 'url') return downloadContent(context, source.url, headers);
  const { name, type, chunks } = await openSource(context, source);
  return { name, type, bytes: await readAllBytes(name, chunks) };
}

/** A file whose content can be read. */
interface OpenedFile {
  name: string;
  type: string;
  chunks: AsyncIterable<Uint8Array>;
}

/** Opens a run file or a workspace file, which may have any size. Throws FILE_UNKNOWN. */
export async function openSource(
  context: Context,
  source: Exclude<FileSource, { kind: 'url' }>,
): Promise<OpenedFile> {
  if (source.kind === 'workspace') {
    const found = await workspaceFiles(context).open(source.id);
    if (!found) throw unknownFileError(source.id);
    const { name, type } = found.file;
    return { name: sanitizeFileName(name), type, chunks: found.chunks() };
  }
  const { record } = source;
  const found = await context.services.openFile(record);
  if (!found)
    throw permanentError(
      'FILE_UNKNOWN',
      `The run has no file ${JSON.stringify(record.name.slice(0, 100))}: its content was deleted, or it belongs to another workspace.`,
    );
  return { name: sanitizeFileName(record.name), type: record.type, chunks: found.chunks() };
}

async function downloadContent(
  context: Context,
  url: URL,
  headers: readonly [string, string][],
): Promise<FileContent> {
  const subject = `The file at ${url.origin}${url.pathname}`;
  const content = await download(context, { url, subject, maxBytes: MAX_FILE_BYTES, headers });
  return { name: sanitizeFileName(decodePath(url.pathname)), ...content };
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // The text has a percent sign that is not part of an encoded character.
    return path;
  }
}

/** Returns content in memory as a stream of one chunk. */
export async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Returns the content of a file. Throws FILE_TOO_LARGE. */
export async function readAllBytes(name: string, chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let byteCount = 0;
  for await (const chunk of chunks) {
    byteCount += chunk.length;
    if (byteCount > MAX_FILE_BYTES)
      throw permanentError(
        'FILE_TOO_LARGE',
        `The file "${name}" has more than ${MAX_FILE_BYTES / 2 ** 20} MiB, the maximum for reading its text. Use the file itself instead.`,
      );
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}

import type { Json } from '@heddle/core';
import { filesIn, withContents } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import type { Engine, FileReader } from '@heddle/engine';
import { ApiError, notFound } from '../../errors.ts';
import type { RunFile } from './schemas.ts';

/** Most bytes of one file, and of all files of an answer, that are shown as Base64. */
export const MAX_INLINE_BYTES = 16 * 1024 * 1024;

/** Bounds of what is read of files for one answer: an output can name any number of records. */
const READ_LIMITS = { files: 100, bytes: 3 * MAX_INLINE_BYTES };

/** Returns a function that reads files for one answer about a run, until the caller has left. */
export function filesFor(
  engine: Pick<Engine, 'fileReader'>,
  runId: string,
  signal: AbortSignal,
): Promise<FileReader> {
  return engine.fileReader(runId, { ...READ_LIMITS, signal });
}

/**
 * A function that gives values with `base64` in the records of their files, as far as an answer may show them: none over
 * `maxBytes`, and of all values not more than 16 MiB, where a file that stands there twice counts twice. The others are
 * there to be downloaded.
 */
export function base64Inliner(
  files: () => Promise<FileReader>,
  maxBytes: number,
): (value: Json) => Promise<Json> {
  let left = MAX_INLINE_BYTES;
  let reading: Promise<FileReader> | undefined;
  return async (value) => {
    const contents = new Map<string, string>();
    for (const file of filesIn(value)) {
      if (file.size > Math.min(maxBytes, left)) continue;
      const content = await (await (reading ??= files()))(file);
      if (content !== undefined) contents.set(nameOf(file), content);
    }
    if (contents.size === 0) return value;
    return withContents(value, (file) => {
      const content = contents.get(nameOf(file));
      const bytes = content === undefined ? 0 : Buffer.byteLength(content, 'base64');
      // What a record says of its size may be of a workflow's own making.
      if (bytes > Math.min(maxBytes, left)) return undefined;
      left -= bytes;
      return content;
    });
  };
}

function nameOf({ id, key }: FileRecord): string {
  return `${id} ${key}`;
}

/** Where a file of a run is downloaded. */
export function downloadPath(run: { workflowId: string; runId: string }, fileId: string): string {
  const [workflow, id, file] = [run.workflowId, run.runId, fileId].map(encodeURIComponent);
  return `/api/v2/workflows/${workflow}/runs/${id}/files/${file}`;
}

/**
 * The files of an output, as a run shows them; with `maxBytes` their contents too, of at most so many bytes each. Throws
 * 413 for what is too much, 404 for what is no longer there.
 */
export async function runFilesOf(
  files: () => Promise<FileReader>,
  run: { workflowId: string; runId: string; output: Json },
  maxBytes?: number,
): Promise<RunFile[]> {
  const shown: RunFile[] = [];
  let left = MAX_INLINE_BYTES;
  const read = maxBytes === undefined ? undefined : await files();
  for (const file of filesIn(run.output)) {
    const { id, name, size, type } = file;
    const entry = { id, name, size, type, downloadPath: downloadPath(run, id) };
    const expectFits = (bytes: number): void => expectInline(entry, bytes, { maxBytes: maxBytes ?? 0, left });
    const base64 = read && (await contentOf(read, file, expectFits));
    if (base64 !== undefined) left -= Buffer.byteLength(base64, 'base64');
    shown.push({ ...entry, ...(base64 !== undefined && { base64 }) });
  }
  return shown;
}

async function contentOf(
  read: FileReader,
  file: FileRecord,
  expectFits: (bytes: number) => void,
): Promise<string> {
  expectFits(file.size);
  const content = await read(file);
  if (content === undefined) throw notFound('File');
  // What a record says of its size may be of a workflow's own making.
  expectFits(Buffer.byteLength(content, 'base64'));
  return content;
}

function expectInline(
  { name, downloadPath: path }: RunFile,
  bytes: number,
  { maxBytes, left }: { maxBytes: number; left: number },
): void {
  if (bytes <= Math.min(maxBytes, left)) return;
  const most =
    bytes > maxBytes
      ? `more than the ${maxBytes} that are shown`
      : `with those before it more than the ${MAX_INLINE_BYTES} that are shown`;
  throw new ApiError(413, `The file "${name}" has ${bytes} bytes, ${most}: download it with GET ${path}`);
}

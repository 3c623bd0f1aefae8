import type { Json } from '@heddle/core';
import { filesIn, withContents } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import type { Engine, FileReader } from '@heddle/engine';
import { notFound, payloadTooLarge } from '../../errors.ts';
import type { RunFile } from './schemas.ts';

/** Maximum number of file bytes that one response contains as Base64. */
export const MAX_INLINE_BYTES = 16 * 1024 * 1024;

/** Limits on what is read for one response. An output can have any number of file records. */
const READ_LIMITS = { files: 100, bytes: 3 * MAX_INLINE_BYTES };

/** Returns a reader of files for one response about a run. It stops when `signal` aborts. */
export function openFileReader(
  engine: Pick<Engine, 'fileReader'>,
  runId: string,
  signal: AbortSignal,
): Promise<FileReader> {
  return engine.fileReader(runId, { ...READ_LIMITS, signal });
}

/**
 * Returns a function that adds `base64` to the file records in values. The function omits files over `maxBytes`, files
 * that would bring the total over all values above 16 MiB, and files that the reader does not return. Each occurrence
 * of a file counts. Files that are omitted because of a limit can be downloaded.
 */
export function createBase64Inliner(
  openReader: () => Promise<FileReader>,
  maxBytes: number,
): (value: Json) => Promise<Json> {
  let bytesLeft = MAX_INLINE_BYTES;
  let reader: Promise<FileReader> | undefined;
  return async (value) => {
    const contents = new Map<string, string>();
    for (const file of filesIn(value)) {
      if (file.size > Math.min(maxBytes, bytesLeft)) continue;
      const content = await (await (reader ??= openReader()))(file);
      if (content !== undefined) contents.set(keyOf(file), content);
    }
    if (contents.size === 0) return value;
    return withContents(value, (file) => {
      const content = contents.get(keyOf(file));
      const bytes = content === undefined ? 0 : Buffer.byteLength(content, 'base64');
      // A workflow can forge a record, so its `size` is not trusted.
      if (bytes > Math.min(maxBytes, bytesLeft)) return undefined;
      bytesLeft -= bytes;
      return content;
    });
  };
}

function keyOf({ id, key }: FileRecord): string {
  return `${id} ${key}`;
}

/** Returns the path from which a file of a run is downloaded. */
export function downloadPath(
  run: { workflowId: string; runId: string; basePath: string },
  fileId: string,
): string {
  const [workflow, id, file] = [run.workflowId, run.runId, fileId].map(encodeURIComponent);
  return `${run.basePath}/api/v2/workflows/${workflow}/runs/${id}/files/${file}`;
}

/**
 * Returns the files of a run's output; with `maxBytes`, also their contents. With `maxBytes`, throws 413 for too many
 * files, and for a file over `maxBytes` or over the limit of the response. Throws 404 for a file that the reader does
 * not return: the file was deleted, belongs to another tenant, or is over `READ_LIMITS`.
 */
export async function runFilesOf(
  openReader: () => Promise<FileReader>,
  run: { workflowId: string; runId: string; basePath: string; output: Json },
  maxBytes?: number,
): Promise<RunFile[]> {
  const runFiles: RunFile[] = [];
  let bytesLeft = MAX_INLINE_BYTES;
  const files = filesIn(run.output);
  const read = maxBytes === undefined ? undefined : await openReader();
  if (read && files.length > READ_LIMITS.files)
    throw payloadTooLarge(
      `The output has more than ${READ_LIMITS.files} files: read the run without their contents, and download each file with GET and its downloadPath`,
    );
  for (const file of files) {
    const { id, name, size, type } = file;
    const runFile = { id, name, size, type, downloadPath: downloadPath(run, id) };
    const requireAllowedSize = (bytes: number): void =>
      requireInlineLimits(runFile, bytes, { maxBytes: maxBytes ?? 0, bytesLeft });
    const base64 = read && (await contentOf(read, file, requireAllowedSize));
    if (base64 !== undefined) bytesLeft -= Buffer.byteLength(base64, 'base64');
    runFiles.push({ ...runFile, ...(base64 !== undefined && { base64 }) });
  }
  return runFiles;
}

async function contentOf(
  read: FileReader,
  file: FileRecord,
  requireAllowedSize: (bytes: number) => void,
): Promise<string> {
  requireAllowedSize(file.size);
  const content = await read(file);
  if (content === undefined) throw notFound('File');
  // A workflow can forge a record, so its `size` is not trusted.
  requireAllowedSize(Buffer.byteLength(content, 'base64'));
  return content;
}

function requireInlineLimits(
  { name, downloadPath: path }: RunFile,
  bytes: number,
  { maxBytes, bytesLeft }: { maxBytes: number; bytesLeft: number },
): void {
  if (bytes <= Math.min(maxBytes, bytesLeft)) return;
  const reason =
    bytes > maxBytes
      ? `more than the limit of ${maxBytes}`
      : `together with the files before it more than the limit of ${MAX_INLINE_BYTES}`;
  throw payloadTooLarge(`The file "${name}" has ${bytes} bytes, ${reason}: download it with GET ${path}`);
}

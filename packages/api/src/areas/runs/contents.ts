import type { Json } from '@heddle/core';
import { filesIn, withContents } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import type { Engine } from '@heddle/engine';
import { ApiError, notFound } from '../../errors.ts';
import type { RunFile } from './schemas.ts';

/** Most bytes of one file, and of all files of an answer, that are shown as Base64. */
export const MAX_INLINE_BYTES = 16 * 1024 * 1024;

type Reads = Pick<Engine, 'readFile'>;

/**
 * A function that gives values with `base64` in the records of their files, as far as an answer may show them: none over
 * `maxBytes`, and of all values not more than 16 MiB. The others are there to be downloaded.
 */
export function inliner(engine: Reads, maxBytes: number): (value: Json) => Promise<Json> {
  let left = MAX_INLINE_BYTES;
  return async (value) => {
    const contents = new Map<string, string>();
    for (const file of filesIn(value)) {
      const most = Math.min(maxBytes, left);
      const content = file.size > most ? undefined : await engine.readFile(file);
      const bytes = content === undefined ? 0 : Buffer.byteLength(content, 'base64');
      if (content === undefined || bytes > most) continue;
      left -= bytes;
      contents.set(file.key, content);
    }
    return withContents(value, contents);
  };
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
export async function shownFiles(
  engine: Reads,
  output: Json,
  run: { workflowId: string; runId: string },
  maxBytes?: number,
): Promise<RunFile[]> {
  const shown: RunFile[] = [];
  let left = MAX_INLINE_BYTES;
  for (const file of filesIn(output)) {
    const { id, name, size, type } = file;
    const entry = { id, name, size, type, downloadPath: downloadPath(run, id) };
    const expectFits = (bytes: number): void => expectInline(entry, bytes, { maxBytes: maxBytes ?? 0, left });
    const base64 = maxBytes === undefined ? undefined : await contentOf(engine, file, expectFits);
    if (base64 !== undefined) left -= Buffer.byteLength(base64, 'base64');
    shown.push({ ...entry, ...(base64 !== undefined && { base64 }) });
  }
  return shown;
}

async function contentOf(
  engine: Reads,
  file: FileRecord,
  expectFits: (bytes: number) => void,
): Promise<string> {
  expectFits(file.size);
  const content = await engine.readFile(file);
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

import { BlockError, isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { RunTenantFiles, TenantFile } from '@heddle/engine/tenant-data';
import type { Context } from '../../define.ts';
import { plainText } from '../../openapi/wire.ts';
import type { NativeToolCall } from '../native-integration.ts';
import { invalidCallError } from '../failures.ts';
import { parseFolderPath, parseFileName } from './folders.ts';
import { lineCountOf, occurrencesOf } from './occurrences.ts';
import {
  chunksOf,
  contentOf,
  readAllBytes,
  openSource,
  sourcesOf,
  unknownFileError,
  workspaceFiles,
} from './sources.ts';
import { textOf, textMediaTypeOf } from './text.ts';
import { unknownFolderError } from './read.ts';

/** Maximum number of attempts to change a file that other runs change at the same time. */
const MAX_ATTEMPTS = 5;
/** Maximum number of lines that an error names. */
const MAX_SHOWN_LINES = 20;

type Chunks = AsyncIterable<Uint8Array>;

const textChunks = (text: string): Chunks => chunksOf(Buffer.from(text.toWellFormed()));

/** Stores text or a file as a workspace file. */
export async function writeFile({ args, context, idempotencyKey }: NativeToolCall): Promise<JsonObject> {
  const files = workspaceFiles(context);
  const name = parseFileName(getOwn(args, 'fileName'));
  const folderPath = parseFolderPath(args, 'folderPath') ?? '/';
  const contentType = getOwn(args, 'contentType');
  const { type, chunks } = await resolveNewContent({ args, context }, name);
  const file = {
    ...{ name, folderPath, chunks, type: typeof contentType === 'string' ? contentType : type },
    onNameConflict: getOwn(args, 'overwrite') === true ? ('replace' as const) : ('rename' as const),
  };
  return outputOf(await files.create(file, idempotencyKey));
}

async function resolveNewContent(
  { args, context }: Pick<NativeToolCall, 'args' | 'context'>,
  name: string,
): Promise<{ type: string; chunks: Chunks }> {
  const [content, file] = ['content', 'file'].map((key) => getOwn(args, key));
  if ((content === undefined) === (file === undefined))
    throw invalidCallError(
      content === undefined ? 'has neither text nor a file to store' : 'has both text and a file to store',
    );
  if (file === undefined)
    return { type: textMediaTypeOf(name), chunks: textChunks(plainText(content ?? null)) };
  const [source, ...others] = sourcesOf(file);
  if (!source || others.length > 0) throw invalidCallError('must have one file to store');
  if (source.kind !== 'url') return openSource(context, source);
  const { bytes, type = 'application/octet-stream' } = await contentOf(context, source);
  return { type, chunks: chunksOf(bytes) };
}

/** Adds text to the end of a file. The content is streamed, not held in memory. */
export async function appendToFile(call: NativeToolCall): Promise<JsonObject> {
  const text = plainText(getOwn(call.args, 'content') ?? null);
  const changedFile = await changeContent(call, async (_file, chunks) =>
    (async function* () {
      yield* chunks;
      yield* textChunks(text);
    })(),
  );
  return outputOf(changedFile);
}

/** Replaces a string that occurs exactly once in the file. */
export async function editFile(call: NativeToolCall): Promise<JsonObject> {
  const [oldText = '', newText = ''] = ['oldString', 'newString'].map((name) =>
    plainText(getOwn(call.args, name) ?? null),
  );
  if (oldText === '') throw invalidCallError('has no text to replace');
  return editText(call, (text) => {
    const positions = occurrencesOf(oldText, text, MAX_SHOWN_LINES + 1);
    const [position] = positions;
    if (position === undefined) throw invalidCallError('replaces a string that is not in the file');
    if (positions.length > 1) throw invalidCallError(ambiguityProblem(text, positions));
    return text.slice(0, position) + newText + text.slice(position + oldText.length);
  });
}

function ambiguityProblem(text: string, positions: readonly number[]): string {
  const lines = positions.slice(0, MAX_SHOWN_LINES).map((position) => lineCountOf(text, position));
  const times = positions.length > MAX_SHOWN_LINES ? `more than ${MAX_SHOWN_LINES}` : positions.length;
  return `replaces a string that is in the file ${times} times, on lines ${lines.join(', ')}: add more of the text around it`;
}

/** Inserts lines after a line; line 0 is the beginning of the file. */
export async function insertIntoFile(call: NativeToolCall): Promise<JsonObject> {
  const afterLine = Number(getOwn(call.args, 'afterLine') ?? 0);
  const content = plainText(getOwn(call.args, 'content') ?? null);
  return editText(call, (text) => {
    const lines = text === '' ? [] : text.split('\n');
    if (afterLine > lines.length)
      throw invalidCallError(`inserts lines after line ${afterLine} of a file with ${lines.length} lines`);
    return [...lines.slice(0, afterLine), content.replace(/\n$/, ''), ...lines.slice(afterLine)].join('\n');
  });
}

async function editText(call: NativeToolCall, edit: (text: string) => string): Promise<JsonObject> {
  let lineCount: number | undefined;
  const changedFile = await changeContent(call, async ({ name, type }, chunks) => {
    const text = edit(textOf({ name, type, bytes: await readAllBytes(name, chunks) }));
    lineCount = lineCountOf(text);
    return textChunks(text);
  });
  lineCount ??= await storedLineCountOf(call.context, changedFile);
  return { ...outputOf(changedFile), lineCount };
}

/** Returns the number of lines of a file that an earlier call with the same key has changed. */
async function storedLineCountOf(context: Context, { id }: TenantFile): Promise<number> {
  return lineCountOf(textOf(await contentOf(context, { kind: 'workspace', id })));
}

/**
 * Replaces the content of the file that a call names, and retries if the file has been changed in the meantime. If a
 * call with the same idempotency key has already changed the file, returns that file.
 */
async function changeContent(
  { args, context, idempotencyKey }: NativeToolCall,
  transform: (file: TenantFile, chunks: Chunks) => Promise<Chunks>,
): Promise<TenantFile> {
  const files = workspaceFiles(context);
  const storedFile = await files.findResult(idempotencyKey);
  if (storedFile) return storedFile;
  const id = await findTargetId(args, files);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const found = await files.open(id);
    if (!found) throw unknownFileError(id);
    const { file } = found;
    const chunks = await transform(file, found.chunks());
    const changedFile = await files.replace({ id, revision: file.revision, chunks }, idempotencyKey);
    if (changedFile) return changedFile;
  }
  throw new BlockError(
    'FILE_CHANGED',
    `The file ${JSON.stringify(id)} was changed by others during each of ${MAX_ATTEMPTS} attempts.`,
    { retryable: true },
  );
}

/** Returns the id of the file that a call names by its id or its name. Throws FILE_UNKNOWN. */
async function findTargetId(args: JsonObject, files: RunTenantFiles): Promise<string> {
  const [target, ...others] = [getOwn(args, 'file') ?? null].flat();
  if (others.length > 0) throw invalidCallError('changes more than one file');
  const text = typeof target === 'string' ? target.trim() : idOf(target ?? null);
  // Neither an id nor a name may have slashes, so both are checked in the same way.
  const idOrName = parseFileName(text);
  const fileWithId = await files.find(idOrName);
  if (fileWithId) return fileWithId.id;
  const folder = parseFolderPath(args, 'folderPath');
  const recursive = folder === undefined || getOwn(args, 'includeSubfolders') !== false;
  const listing = await files.list({ folderPath: folder ?? '/', recursive, name: idOrName, limit: 10 });
  if (!listing) throw unknownFolderError(folder ?? '/');
  const [match, ...otherMatches] = listing.files;
  if (!match) throw unknownFileError(idOrName);
  if (otherMatches.length === 0) return match.id;
  const folders = listing.files.map(({ folderPath }) => folderPath).join(', ');
  throw invalidCallError(`names a file that is in several folders (${folders}): name its folder, or its id`);
}

function idOf(value: Json): string {
  const ids = isJsonObject(value) ? ['workspaceFileId', 'id'].map((name) => getOwn(value, name)) : [];
  const id = ids.find((candidate) => typeof candidate === 'string');
  if (typeof id === 'string') return id;
  throw invalidCallError('does not name the file to change by its id or its name');
}

/** Moves a file to another folder. */
export async function moveFile({ args, context, idempotencyKey }: NativeToolCall): Promise<JsonObject> {
  const id = plainText(getOwn(args, 'fileId') ?? null).trim();
  const folderPath = parseFolderPath(args, 'folderPath') ?? '/';
  const movedFile = await workspaceFiles(context).move({ id, folderPath }, idempotencyKey);
  if (!movedFile) throw unknownFileError(id);
  return { fileId: movedFile.id, folderPath: movedFile.folderPath };
}

/** Returns the output for a file that was stored. */
function outputOf({ id, name, size, folderPath, url }: TenantFile): JsonObject {
  return { id, name, size, folderPath, ...(url !== undefined && { url }) };
}

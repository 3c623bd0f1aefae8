import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { sanitizeFileName, toMediaType } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import type { Context } from '../../define.ts';
import { plainText } from '../../openapi/wire.ts';
import type { NativeToolCall } from '../native-integration.ts';
import { permanentError, invalidCallError } from '../failures.ts';
import { parseFolderPath } from './folders.ts';
import { chunksOf, contentOf, MAX_FILES, openSource, sourcesOf, workspaceFiles } from './sources.ts';
import type { FileContent, FileSource } from './sources.ts';
import { textOf } from './text.ts';

/** Maximum number of entries, including subfolders, in a folder that is read as a whole. */
const MAX_ENTRIES = 1000;
/** Maximum total length of the texts in a result, in characters. */
const MAX_TEXT_CHARS = 8 * 2 ** 20;
const DIVIDER = `\n${'='.repeat(80)}\n\n`;

/** A file with its text. */
interface ParsedFile {
  content: string;
  file: FileRecord;
}

/**
 * Returns the files with their texts. Workspace files and files at URLs become run files. Throws a
 * BlockError.
 */
export async function parseFiles(
  { context }: NativeToolCall,
  value: Json,
  headers: readonly [string, string][] = [],
): Promise<ParsedFile[]> {
  const budget = { chars: MAX_TEXT_CHARS };
  const parsedFiles: ParsedFile[] = [];
  for (const source of sourcesOf(value)) {
    const content = await contentOf(context, source, headers);
    const text = consumeBudget(textOf(content), budget);
    parsedFiles.push({ content: text, file: await storeAsRunFile(context, source, content) });
  }
  return parsedFiles;
}

/** Returns `text`, and subtracts its length from `budget`. Throws FILE_TOO_LARGE if the budget is exceeded. */
function consumeBudget(text: string, budget: { chars: number }): string {
  budget.chars -= text.length;
  if (budget.chars >= 0) return text;
  throw permanentError(
    'FILE_TOO_LARGE',
    `The texts of the files have more than ${MAX_TEXT_CHARS} characters together: read fewer files or fewer lines.`,
  );
}

/** Returns the file record of a file. Stores the file as a run file unless it is one already. */
async function storeAsRunFile(
  { services }: Context,
  source: FileSource,
  { name, type, bytes }: FileContent,
): Promise<FileRecord> {
  if (source.kind === 'run') return source.record;
  const record = await services.storeFile({ name, type, chunks: chunksOf(bytes) });
  return source.kind === 'workspace' ? { ...record, ...{ workspaceFileId: source.id } } : record;
}

/** Returns the texts of all files, separated by a line of equals signs. */
export function combineTexts(parsedFiles: readonly ParsedFile[]): string {
  return parsedFiles.map(({ content }) => content).join(DIVIDER);
}

/** Returns the output of the older block versions: each file with its text. */
export function outputWithTexts(parsedFiles: readonly ParsedFile[]): JsonObject {
  const files = parsedFiles.map(({ content, file }) => ({
    ...{ name: file.name, size: file.size, fileType: toMediaType(file.type), binary: false, content },
    file: { ...file } as unknown as JsonObject,
  }));
  return { files, combinedContent: combineTexts(parsedFiles), processedFiles: files.map(({ file }) => file) };
}

/** Returns the output of the newer block versions: the files, and their combined text. */
export function outputWithCombinedText(parsedFiles: readonly ParsedFile[]): JsonObject {
  const files = parsedFiles.map(({ file }) => ({ ...file }) as unknown as JsonObject);
  return { files, combinedContent: combineTexts(parsedFiles) };
}

/** Returns the files of a call: those in the argument `file`, else all files of the folder. */
async function selectedSources({ args, context }: NativeToolCall): Promise<FileSource[]> {
  const file = getOwn(args, 'file');
  if (file !== undefined) return sourcesOf(file);
  const folderPath = parseFolderPath(args, 'folderPath');
  if (folderPath === undefined) throw invalidCallError('has neither a file nor a folder');
  const recursive = getOwn(args, 'includeSubfolders') !== false;
  const query = { folderPath, recursive, limit: MAX_ENTRIES };
  const listing = await workspaceFiles(context).list(query);
  if (!listing) throw unknownFolderError(folderPath);
  if (listing.files.length > MAX_FILES || listing.truncated)
    throw invalidCallError(
      `reads a folder with more than ${MAX_FILES} files or ${MAX_ENTRIES} entries: choose a smaller folder, or name the files`,
    );
  return listing.files.map(({ id }) => ({ kind: 'workspace', id }));
}

/** Returns FILE_UNKNOWN for a folder. */
export function unknownFolderError(path: string): ReturnType<typeof permanentError> {
  return permanentError('FILE_UNKNOWN', `The workspace has no folder ${JSON.stringify(path.slice(0, 200))}.`);
}

/** Returns the selected files as run files, without their texts. Contents are streamed, not held in memory. */
export async function readFiles(call: NativeToolCall): Promise<JsonObject> {
  const files: JsonObject[] = [];
  for (const source of await selectedSources(call)) files.push(await readFile(call.context, source));
  return { files, file: files[0] ?? null };
}

async function readFile(context: Context, source: FileSource): Promise<JsonObject> {
  if (source.kind === 'url')
    throw invalidCallError(
      'has a URL instead of a workspace file: use the operation file_fetch to download files',
    );
  const { name, type, chunks } = await openSource(context, source);
  if (source.kind === 'run') return { ...source.record };
  const record = await context.services.storeFile({ name: sanitizeFileName(name), type, chunks });
  return { ...record, workspaceFileId: source.id };
}

/** Returns the texts of the files, or the lines of each that `offset` and `limit` select. */
export async function readTexts(call: NativeToolCall): Promise<JsonObject> {
  const { args, context } = call;
  const [firstLine, maxLines] = ['offset', 'limit'].map((name) => getOwn(args, name));
  const budget = { chars: MAX_TEXT_CHARS };
  const contents: string[] = [];
  const lineRanges: JsonObject[] = [];
  for (const source of await selectedSources(call)) {
    const content = await contentOf(context, source);
    if (firstLine === undefined && maxLines === undefined)
      contents.push(consumeBudget(textOf(content), budget));
    else {
      const lines = textOf(content).split('\n');
      const start = typeof firstLine === 'number' ? firstLine : 1;
      const end = typeof maxLines === 'number' ? start - 1 + maxLines : lines.length;
      const selectedLines = lines.slice(start - 1, end);
      contents.push(consumeBudget(selectedLines.join('\n'), budget));
      lineRanges.push({ offset: start, lineCount: selectedLines.length, totalLines: lines.length });
    }
  }
  return { contents, ...(lineRanges.length > 0 && { lineRanges }) };
}

/** Returns the headers in a table (rows `{cells: {Key, Value}}`) or in an object. Throws TOOL_ARGUMENTS_INVALID. */
export function parseHeaders(value: Json | undefined): [string, string][] {
  if (value === undefined) return [];
  const rows = Array.isArray(value) ? value.map(cellsOf) : [value];
  return rows.flatMap((row): [string, string][] => {
    if (!isJsonObject(row)) throw invalidCallError('has invalid headers: they must be a table or an object');
    const key = getOwn(row, 'Key');
    if (!Array.isArray(value))
      return Object.entries(row).map(([name, text]): [string, string] => [name, plainText(text)]);
    const name = plainText(key ?? null).trim();
    return name === '' ? [] : [[name, plainText(getOwn(row, 'Value') ?? null)]];
  });
}

function cellsOf(row: Json): Json {
  return isJsonObject(row) ? (getOwn(row, 'cells') ?? row) : row;
}

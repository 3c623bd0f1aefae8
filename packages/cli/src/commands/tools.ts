import { writeFile } from 'node:fs/promises';
import type { ImportedTools, ToolFile } from '@heddle/blocks';
import { egressOf, pairsOf } from '../block-options.ts';
import type { BlockOptions } from '../block-options.ts';
import { readEnv } from '../env.ts';
import { EXIT } from '../exit-code.ts';
import { readFileOrStdin } from '../input/json-source.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { sanitize, styleFor } from '../render/style.ts';
import { tableLines } from '../render/table.ts';
import { UsageError } from '../usage-error.ts';

/** Options of `heddle tools import`. */
export interface ImportToolsOptions extends BlockOptions {
  name: string;
  out: string;
  only: string[];
  idempotent: string[];
  keyHeader?: string;
  variable: string[];
  json: boolean;
}

const MAX_DOCUMENT_MB = 64;
const DOWNLOAD_TIMEOUT_MS = 120_000;
/** Maximum number of operations that are shown by name; --json shows all. */
const MAX_SHOWN_OPERATIONS = 20;

/** Creates a tool file from an OpenAPI document. Returns exit code 2 if it would have no tools. Throws usage errors. */
export async function importTools(io: Io, source: string, options: ImportToolsOptions): Promise<number> {
  const isUrl = /^https?:\/\//i.test(source);
  const document = await parseDocument(
    isUrl ? await download(source, options) : await readFileOrStdin(io, source),
    source,
  );
  const { importOpenApi } = await import('@heddle/blocks');
  const { name, only, idempotent, keyHeader, out } = options;
  const importedTools = await importOpenApi(document, {
    name,
    idempotent,
    variables: pairsOf('--variable', options.variable, 'region=eu'),
    ...(only.length > 0 && { only }),
    ...(keyHeader !== undefined && { keyHeader }),
    ...(isUrl && { documentUrl: source }),
  });
  const { tools } = importedTools.file;
  if (tools.length > 0) await writeToolFile(out, `${JSON.stringify(importedTools.file, null, 1)}\n`);
  if (options.json) {
    const { skipped, simplified, unselected } = importedTools;
    writeJson(io, { data: { tools: tools.map(({ id }) => id), skipped, simplified, unselected } });
  } else show(io, importedTools, out);
  return tools.length > 0 ? EXIT.completed : EXIT.invalid;
}

async function writeToolFile(out: string, text: string): Promise<void> {
  try {
    await writeFile(out, text);
  } catch (error) {
    throw new UsageError(
      `The file ${out} cannot be written: ${(error as Error).message}`,
      'Use --out for another file.',
    );
  }
}

async function download(url: string, options: BlockOptions): Promise<string> {
  const { createEgress } = await import('@heddle/sandbox/egress');
  const policy = await egressOf(options, readEnv());
  const http = createEgress({
    ...policy,
    timeoutMs: DOWNLOAD_TIMEOUT_MS,
    maxResponseBytes: MAX_DOCUMENT_MB * 2 ** 20,
  });
  try {
    const { status, body } = await http.fetch({ url });
    if (status === 200) return new TextDecoder().decode(body);
    throw new UsageError(
      `${url} responded with status ${status}.`,
      'Download the document and pass its file.',
    );
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `${url} cannot be read: ${(error as Error).message}`,
      'Download the document and pass its file.',
    );
  } finally {
    await http.close();
  }
}

/** Parses JSON, or else YAML. */
async function parseDocument(text: string, source: string): Promise<unknown> {
  if (text.length > MAX_DOCUMENT_MB * 2 ** 20)
    throw new UsageError(
      `${source} is larger than ${MAX_DOCUMENT_MB} MB.`,
      'Remove parts that are not needed.',
    );
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as unknown;
  } catch (error) {
    if (/^\s*\{/.test(text)) throw invalidDocumentError(source, 'JSON', error);
  }
  const { parse } = await import('yaml');
  try {
    return parse(text, { schema: 'core', maxAliasCount: 1000, logLevel: 'error' }) as unknown;
  } catch (error) {
    throw invalidDocumentError(source, 'JSON or YAML', error);
  }
}

function invalidDocumentError(source: string, format: string, error: unknown): UsageError {
  const message = (error as Error).message.split('\n', 1)[0] ?? '';
  return new UsageError(`${source} is not ${format}: ${message}`, 'It must be an OpenAPI document.');
}

function show(io: Io, { file, skipped, simplified, unselected }: ImportedTools, out: string): void {
  const style = styleFor(io.stderr);
  const services = Object.entries(file.services).map(([name, { address }]) => [
    `  ${style.bold(name)}`,
    address ?? `unknown: set it with --service ${name}=URL`,
    sanitize(describeCredential(file, name)),
  ]);
  const lines = [
    `${countText(file.tools.length, 'tool')}${file.tools.length > 0 ? ` in ${out}` : ''}${unselected > 0 ? `, ${countText(unselected, 'operation')} not selected` : ''}`,
    ...tableLines(services),
    ...operationLines('skipped', skipped),
    ...operationLines('with a simpler schema', simplified),
  ];
  io.stderr.write(`${lines.join('\n')}\n`);
}

/** Returns a description of the credential that the operator must provide for a service; empty if it needs none. */
function describeCredential({ tools }: ToolFile, service: string): string {
  const schemeLists = tools.flatMap(({ service: toolService, credential }) =>
    toolService === service && credential ? [Object.entries(credential.schemes)] : [],
  );
  const descriptions = schemeLists.map((schemes) =>
    schemes.length === 1
      ? (schemes[0]?.[1].type ?? '')
      : `JSON object with ${schemes.map(([name]) => name).join(', ')}`,
  );
  const uniqueDescriptions = [...new Set(descriptions)];
  return uniqueDescriptions.length === 0 ? '' : `credential: ${uniqueDescriptions.join(' or ')}`;
}

function operationLines(label: string, operations: ImportedTools['skipped']): string[] {
  if (operations.length === 0) return [];
  const rows = operations
    .slice(0, MAX_SHOWN_OPERATIONS)
    .map(({ operation, reason }) => [sanitize(`  ${operation}`), sanitize(reason)]);
  const omittedCount = operations.length - rows.length;
  const omissionLines = omittedCount > 0 ? [`  and ${omittedCount} more: --json shows all`] : [];
  return [`${countText(operations.length, 'operation')} ${label}:`, ...tableLines(rows), ...omissionLines];
}

function countText(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

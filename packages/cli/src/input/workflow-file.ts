import { basename } from 'node:path';
import { compile, parseWorkflowText } from '@heddle/core';
import type { CompileOptions, Diagnostic, Json, Plan } from '@heddle/core';
import type { Io } from '../io.ts';
import type { BindingOptions } from './bindings.ts';
import { readFileOrStdin } from './json-source.ts';
import type { Position } from './locate.ts';

/** A diagnostic with its position in the file. */
export type LocatedDiagnostic = Diagnostic & { file: string } & Partial<Position>;

/** A compiled file. If `plan` is undefined, at least one diagnostic is an error. */
export interface WorkflowFile {
  file: string;
  /** Name without folders. It is also the id of the workflow if the text has none. */
  fileName: string;
  text: string;
  /** The text with the values of --set and --bindings. */
  boundText: string;
  plan: Plan | undefined;
  diagnostics: LocatedDiagnostic[];
}

/** Name of a workflow from standard input. */
const STDIN_NAME = 'stdin';

/**
 * Reads, parses and compiles a workflow; `-` is standard input. Throws a usage error if the file cannot be read, or if
 * a value of --set or --bindings cannot be applied to it.
 */
export async function readWorkflow(
  io: Io,
  source: string,
  options: { compat: boolean } & Pick<CompileOptions, 'triggers'> & BindingOptions,
): Promise<WorkflowFile> {
  const text = await readFileOrStdin(io, source);
  const boundText = await withBindings(text, options);
  const file = source === '-' ? STDIN_NAME : source;
  const fileName = basename(file);
  const parseResult = parseWorkflowText(boundText, { fileName });
  const { integrationTypeInfos } = await import('@heddle/blocks');
  const compileResult =
    parseResult.workflow && compile(parseResult.workflow, { ...options, knownTypes: integrationTypeInfos() });
  const diagnostics = [...parseResult.diagnostics, ...(compileResult?.diagnostics ?? [])];
  return {
    file,
    fileName,
    text,
    boundText,
    plan: compileResult?.ok ? compileResult.plan : undefined,
    diagnostics: await withPositions(file, text, diagnostics),
  };
}

async function withBindings(text: string, options: BindingOptions): Promise<string> {
  const { set = [], bindings = [] } = options;
  if (set.length === 0 && bindings.length === 0) return text;
  const { applyBindings, readBindings } = await import('./bindings.ts');
  const boundValues = await readBindings(options);
  let workflow: Json;
  try {
    workflow = JSON.parse(text.replace(/^\uFEFF/, '')) as Json;
  } catch {
    // The parser reports the invalid JSON as a diagnostic.
    return text;
  }
  await applyBindings(workflow, boundValues);
  return JSON.stringify(workflow);
}

async function withPositions(
  file: string,
  text: string,
  diagnostics: readonly Diagnostic[],
): Promise<LocatedDiagnostic[]> {
  if (diagnostics.length === 0) return [];
  const invalidJson = diagnostics.find(({ code }) => code === 'JSON_INVALID');
  const findPosition = invalidJson
    ? () => positionIn(invalidJson.message)
    : await positionFinder(text, diagnostics);
  return diagnostics.map((diagnostic) => ({ ...diagnostic, file, ...findPosition(diagnostic.path) }));
}

/** Returns a function that finds positions in the text. Files over the limits are not parsed, and have no positions. */
async function positionFinder(
  text: string,
  diagnostics: readonly Diagnostic[],
): Promise<(path: Diagnostic['path']) => Position | undefined> {
  const isTooLarge = diagnostics.some(({ code }) => code === 'INPUT_TOO_LARGE' || code === 'INPUT_TOO_DEEP');
  if (isTooLarge) return () => undefined;
  // Loaded only for diagnostics: valid workflows do not need this parser.
  const { createLocator } = await import('./locate.ts');
  return createLocator(text);
}

/** Returns the position in Node's error message about invalid JSON. */
function positionIn(message: string): Position | undefined {
  const match = /line (\d+) column (\d+)/.exec(message);
  return match ? { line: Number(match[1]), column: Number(match[2]) } : undefined;
}

import { basename } from 'node:path';
import { compile, parseWorkflowText } from '@heddle/core';
import type { Diagnostic, Plan } from '@heddle/core';
import type { Io } from '../io.ts';
import { readFileOrStdin } from './json-source.ts';
import type { Position } from './locate.ts';

/** A diagnostic with the place in the file that it is about. */
export type PlacedDiagnostic = Diagnostic & { file: string } & Partial<Position>;

/** A file as `check` sees it: its plan, absent when a diagnostic is an error. */
export interface WorkflowFile {
  file: string;
  /** Without folders: what gives a workflow its id when the file itself does not. */
  fileName: string;
  text: string;
  plan: Plan | undefined;
  diagnostics: PlacedDiagnostic[];
}

/** What a workflow from standard input is called, and where its diagnostics are placed. */
const STDIN = 'stdin';

/** Reads, parses and compiles a workflow; `-` is standard input. Throws only when the file cannot be read. */
export async function readWorkflow(
  io: Io,
  given: string,
  options: { compat: boolean },
): Promise<WorkflowFile> {
  const text = await readFileOrStdin(io, given);
  const file = given === '-' ? STDIN : given;
  const fileName = basename(file);
  const parsed = parseWorkflowText(text, { fileName });
  const compiled = parsed.workflow && compile(parsed.workflow, options);
  const diagnostics = [...parsed.diagnostics, ...(compiled?.diagnostics ?? [])];
  return {
    file,
    fileName,
    text,
    plan: compiled?.ok ? compiled.plan : undefined,
    diagnostics: await placed(file, text, diagnostics),
  };
}

async function placed(
  file: string,
  text: string,
  diagnostics: readonly Diagnostic[],
): Promise<PlacedDiagnostic[]> {
  if (diagnostics.length === 0) return [];
  const broken = diagnostics.find(({ code }) => code === 'JSON_INVALID');
  const find = broken ? () => positionIn(broken.message) : await finder(text, diagnostics);
  return diagnostics.map((diagnostic) => ({ ...diagnostic, file, ...find(diagnostic.path) }));
}

/** Files over the limits are refused unread; nobody needs a line in them. */
async function finder(
  text: string,
  diagnostics: readonly Diagnostic[],
): Promise<(path: Diagnostic['path']) => Position | undefined> {
  const refused = diagnostics.some(({ code }) => code === 'INPUT_TOO_LARGE' || code === 'INPUT_TOO_DEEP');
  if (refused) return () => undefined;
  // A workflow without faults does not load the parser that keeps places.
  const { locator } = await import('./locate.ts');
  return locator(text);
}

/** The place that Node's own message about broken JSON names. */
function positionIn(message: string): Position | undefined {
  const found = /line (\d+) column (\d+)/.exec(message);
  return found ? { line: Number(found[1]), column: Number(found[2]) } : undefined;
}

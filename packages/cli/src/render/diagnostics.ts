import { EXIT } from '../exit-code.ts';
import { blockNameLookup } from '../input/block-names.ts';
import type { LocatedDiagnostic, WorkflowFile } from '../input/workflow-file.ts';
import type { Io } from '../io.ts';
import { formatCount } from './format.ts';
import { sanitize, sanitizeLine, styleFor } from './style.ts';
import type { Style } from './style.ts';

type BlockNameLookup = (blockId: string) => string | undefined;

/** Returns the diagnostics as lines, errors first, each with its block, a hint, and its position in the file. */
export function diagnosticLines(
  diagnostics: readonly LocatedDiagnostic[],
  nameOf: BlockNameLookup,
  style: Style,
): string[] {
  const sortedDiagnostics = [
    ...diagnostics.filter(({ severity }) => severity === 'error'),
    ...diagnostics.filter(({ severity }) => severity !== 'error'),
  ];
  return sortedDiagnostics.flatMap((diagnostic) => [...linesOf(diagnostic, nameOf, style), '']);
}

function linesOf(diagnostic: LocatedDiagnostic, nameOf: BlockNameLookup, style: Style): string[] {
  const { severity, code, message, hint } = diagnostic;
  const label = severity === 'error' ? style.red('error  ') : style.yellow('warning');
  const location = locationOf(diagnostic, nameOf);
  const [firstLine = '', ...otherLines] = sanitize(message).split('\n');
  return [
    `${label}  ${style.bold(firstLine)}${location === '' ? '' : style.dim(`  in ${location}`)}`,
    ...otherLines.map((line) => `         ${line}`),
    `         ${style.cyan('→')} ${sanitizeLine(hint)}`,
    `         ${style.dim(`${positionText(diagnostic)}  ${code}`)}`,
  ];
}

/** Returns `file:line:column`, which editors and terminals turn into a link. */
function positionText({ file, line, column }: LocatedDiagnostic): string {
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`;
}

/** Returns the block and the field in it: `Decide › code`. */
function locationOf({ blockId, path }: LocatedDiagnostic, nameOf: BlockNameLookup): string {
  if (blockId === undefined) return sanitizeLine(path.join('.'));
  const field = path[0] === 'blocks' ? path.slice(2).filter((key) => !WRAPPER_KEYS.has(key)) : [];
  return [nameOf(blockId) ?? blockId, ...(field.length === 0 ? [] : [field.join('.')])]
    .map(sanitizeLine)
    .join(' › ');
}

/** Keys of the file format between a block and the name of a field. Authors of workflows do not know them. */
const WRAPPER_KEYS: ReadonlySet<string | number> = new Set(['subBlocks', 'data', 'value']);

/** Returns text such as `2 errors, 1 warning`; empty if there are none. */
export function countsText(diagnostics: readonly LocatedDiagnostic[]): string {
  const errorCount = diagnostics.filter(({ severity }) => severity === 'error').length;
  const warningCount = diagnostics.length - errorCount;
  return [
    errorCount > 0 ? formatCount(errorCount, 'error') : '',
    warningCount > 0 ? formatCount(warningCount, 'warning') : '',
  ]
    .filter((part) => part !== '')
    .join(', ');
}

/** True if one of the diagnostics is an error. */
export function hasError(diagnostics: readonly LocatedDiagnostic[]): boolean {
  return diagnostics.some(({ severity }) => severity === 'error');
}

/** Prints to stderr why a workflow cannot run, and returns the exit code. */
export function reportInvalid(
  io: Io,
  { file, text, diagnostics }: WorkflowFile,
  { json }: { json: boolean },
): number {
  const style = styleFor(io.stderr);
  const message = `${file} cannot run: ${countsText(diagnostics)}.`;
  if (json) {
    io.stderr.write(
      `${JSON.stringify({ error: { code: 'WORKFLOW_INVALID', message, details: { diagnostics } } })}\n`,
    );
    return EXIT.invalid;
  }
  const lines = diagnosticLines(diagnostics, blockNameLookup(text), style);
  io.stderr.write(`${[...lines, `${style.red('✗')} ${sanitizeLine(message)}`].join('\n')}\n`);
  return EXIT.invalid;
}

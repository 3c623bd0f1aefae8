import type { PlacedDiagnostic } from '../input/workflow-file.ts';
import { plural } from './format.ts';
import { safe, safeLine } from './style.ts';
import type { Style } from './style.ts';

type NameOf = (blockId: string) => string | undefined;

/** The diagnostics as lines, errors first, each with its block, what to do, and its place in the file. */
export function diagnosticLines(
  diagnostics: readonly PlacedDiagnostic[],
  nameOf: NameOf,
  style: Style,
): string[] {
  const errorsFirst = [
    ...diagnostics.filter(({ severity }) => severity === 'error'),
    ...diagnostics.filter(({ severity }) => severity !== 'error'),
  ];
  return errorsFirst.flatMap((diagnostic) => [...oneDiagnostic(diagnostic, nameOf, style), '']);
}

function oneDiagnostic(diagnostic: PlacedDiagnostic, nameOf: NameOf, style: Style): string[] {
  const { severity, code, message, hint } = diagnostic;
  const label = severity === 'error' ? style.red('error  ') : style.yellow('warning');
  const where = placeName(diagnostic, nameOf);
  const [first = '', ...more] = safe(message).split('\n');
  return [
    `${label}  ${style.bold(first)}${where === '' ? '' : style.dim(`  in ${where}`)}`,
    ...more.map((line) => `         ${line}`),
    `         ${style.cyan('→')} ${safeLine(hint)}`,
    `         ${style.dim(`${position(diagnostic)}  ${code}`)}`,
  ];
}

/** `file:line:column`, which editors and terminals turn into a link. */
function position({ file, line, column }: PlacedDiagnostic): string {
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`;
}

/** The block, and what in it: `Decide › code`. */
function placeName({ blockId, path }: PlacedDiagnostic, nameOf: NameOf): string {
  if (blockId === undefined) return safeLine(path.join('.'));
  const field = path[0] === 'blocks' ? path.slice(2).filter((key) => !FRAMES.has(key)) : [];
  return [nameOf(blockId) ?? blockId, ...(field.length === 0 ? [] : [field.join('.')])]
    .map(safeLine)
    .join(' › ');
}

/** Keys between a block and what its author sees of it. */
const FRAMES: ReadonlySet<string | number> = new Set(['subBlocks', 'data', 'value']);

/** `2 errors, 1 warning`; empty when there is nothing. */
export function countsOf(diagnostics: readonly PlacedDiagnostic[]): string {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  const warnings = diagnostics.length - errors;
  return [errors > 0 ? plural(errors, 'error') : '', warnings > 0 ? plural(warnings, 'warning') : '']
    .filter((part) => part !== '')
    .join(', ');
}

/** True when one of them keeps the workflow from running. */
export function anyError(diagnostics: readonly PlacedDiagnostic[]): boolean {
  return diagnostics.some(({ severity }) => severity === 'error');
}

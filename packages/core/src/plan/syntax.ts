import { getLineInfo, parse } from 'acorn';
import type { ReferenceFinding } from '../refs/finding.ts';
import type { CodeTemplate, ExpressionTemplate } from '../refs/template.ts';
import { diagnostic } from './diagnostics.ts';
import type { Compilation } from './compilation.ts';
import type { FieldLocation } from './site.ts';

/** Longer code is not parsed: the parser takes time in proportion to the square of the names in one scope. */
const MOST_CHARS = 50_000;

/** Characters of code that are parsed in one workflow. */
const MOST_CHARS_IN_ALL = 500_000;

/** How the parser says that its stack is used up. */
const TOO_DEEP = 'Not enough stack space';

/** Characters of the line at fault that a message shows. */
const MOST_SHOWN = 120;

/** Reports code of a function block that is no JavaScript. What unknown references left in it has been reported itself. */
export function checkCode(
  compilation: Compilation,
  site: FieldLocation,
  { code, findings }: { code: CodeTemplate; findings: readonly ReferenceFinding[] },
): void {
  if (code.language !== 'javascript' || isBroken(findings)) return;
  const fault = faultIn(compilation, code.code, ['', '']);
  if (fault) report(compilation, site, { what: 'The code', authored: code.authored, fault });
}

/** Reports a condition, a loop's condition or a count that is no JavaScript expression. */
export function checkExpression(
  compilation: Compilation,
  site: FieldLocation,
  compiled: { expression: ExpressionTemplate; findings: readonly ReferenceFinding[]; what: string },
): void {
  const { expression, findings, what } = compiled;
  if (expression.code === '' || isBroken(findings)) return;
  const fault = faultIn(compilation, expression.code, ['return (', ')']);
  if (fault) report(compilation, site, { what, authored: expression.authored, fault });
}

function isBroken(findings: readonly ReferenceFinding[]): boolean {
  return findings.some(({ kind, where }) => where === 'code' && kind.startsWith('unknown'));
}

interface Fault {
  /** Counted from 1, in the authored text. */
  line: number;
  message: string;
}

/**
 * The first thing in the body of an async function that is no JavaScript; undefined too where it is too long to be parsed.
 * The code stands between the two texts, on lines of its own.
 */
function faultIn(
  compilation: Compilation,
  code: string,
  [before, behind]: readonly [string, string],
): Fault | undefined {
  if (code.length > MOST_CHARS || compilation.parsedChars + code.length > MOST_CHARS_IN_ALL) return undefined;
  compilation.parsedChars += code.length;
  const source = `async function body() {${before}\n${code}\n${behind}}`;
  try {
    // The sandbox makes calls of imports.
    const { body } = parse(source, { ecmaVersion: 'latest', allowImportExportEverywhere: true });
    const end = body[0]?.end ?? 0;
    // A brace too many ends the function before its code does.
    return end === source.length ? undefined : faultAt(getLineInfo(source, end).line, 'Unexpected token');
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // Code that is nested too deeply for this parser may be fine in the sandbox.
    if (error.message.startsWith(TOO_DEEP)) return undefined;
    const { loc } = error as SyntaxError & { loc?: { line: number } };
    return faultAt(loc?.line ?? 2, error.message.replace(/ \(\d+:\d+\)$/, ''));
  }
}

/** The line before the code is not of the author. */
function faultAt(line: number, message: string): Fault {
  return { line: Math.max(1, line - 1), message };
}

function report(
  compilation: Compilation,
  { block, path }: FieldLocation,
  { what, authored, fault }: { what: string; authored: string; fault: Fault },
): void {
  const lines = authored.split(/\r\n|[\n\r\u2028\u2029]/);
  const line = Math.min(fault.line, lines.length);
  const text = (lines[line - 1] ?? '').trim();
  const shown = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
  const where = [
    ...(lines.length > 1 ? [`at line ${line}`] : []),
    ...(shown === '' ? [] : [`in "${shown}"`]),
  ];
  compilation.found.push(
    diagnostic('SYNTAX_INVALID', {
      blockId: block.id,
      path,
      message: `${what} of "${block.name}" is no valid JavaScript: ${[fault.message, ...where].join(' ')}.`,
      hint: 'Correct it; until then the block fails when it is reached.',
    }),
  );
}

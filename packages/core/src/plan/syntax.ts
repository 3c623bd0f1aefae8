import { getLineInfo, parse } from 'acorn';
import type { ReferenceFinding } from '../refs/reference-finding.ts';
import type { CodeTemplate, ExpressionTemplate } from '../refs/template.ts';
import { diagnostic } from './diagnostics.ts';
import type { Compilation } from './compilation.ts';
import type { FieldLocation } from './field-location.ts';

/** Maximum length of parsed code: the parser's time grows with the square of the number of names in one scope. */
const MAX_CHARS = 50_000;

/** Maximum number of parsed characters per workflow. */
const MAX_TOTAL_CHARS = 500_000;

/** The parser's message for a stack overflow. */
const STACK_OVERFLOW_MESSAGE = 'Not enough stack space';

/** Maximum number of characters of an invalid line in a message. */
const MAX_LINE_CHARS = 120;

/** Reports invalid JavaScript code of a function block. Unknown references in it have their own diagnostics. */
export function checkCode(
  compilation: Compilation,
  location: FieldLocation,
  { code, findings }: { code: CodeTemplate; findings: readonly ReferenceFinding[] },
): void {
  if (code.language !== 'javascript' || hasUnknownNames(findings)) return;
  const parseError = findParseError(compilation, code.code, ['', '']);
  if (!parseError) return;
  reportParseError(compilation, location, { subject: 'The code', template: code, parseError });
}

/** Reports a condition, a loop's condition or a count that is not a JavaScript expression. */
export function checkExpression(
  compilation: Compilation,
  location: FieldLocation,
  {
    expression,
    findings,
    subject,
  }: { expression: ExpressionTemplate; findings: readonly ReferenceFinding[]; subject: string },
): void {
  if (expression.code === '' || hasUnknownNames(findings)) return;
  const parseError = findParseError(compilation, expression.code, ['return (', ')']);
  if (parseError) reportParseError(compilation, location, { subject, template: expression, parseError });
}

function hasUnknownNames(findings: readonly ReferenceFinding[]): boolean {
  return findings.some(({ kind, syntaxPosition }) => syntaxPosition === 'code' && kind.startsWith('unknown'));
}

interface ParseError {
  /** Line in the authored text, from 1. */
  line: number;
  /** Column in the compiled text, from 1. */
  column: number;
  message: string;
}

/**
 * Returns the first syntax error in the body of an async function; undefined if there is none or the code is too long
 * to parse. The code is on separate lines between `prefix` and `suffix`.
 */
function findParseError(
  compilation: Compilation,
  code: string,
  [prefix, suffix]: readonly [string, string],
): ParseError | undefined {
  if (code.length > MAX_CHARS || compilation.parsedChars + code.length > MAX_TOTAL_CHARS) return undefined;
  compilation.parsedChars += code.length;
  const source = `async function body() {${prefix}\n${code}\n${suffix}}`;
  try {
    // Imports are allowed everywhere, because the sandbox turns them into calls.
    const { body } = parse(source, { ecmaVersion: 'latest', allowImportExportEverywhere: true });
    const end = body[0]?.end ?? 0;
    // An extra brace ends the function before the end of its code.
    return end === source.length ? undefined : parseErrorAt(getLineInfo(source, end), 'Unexpected token');
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // Code that is nested too deeply for this parser may work in the sandbox.
    if (error.message.startsWith(STACK_OVERFLOW_MESSAGE)) return undefined;
    const { loc } = error as SyntaxError & { loc?: { line: number; column: number } };
    return parseErrorAt(loc ?? { line: 2, column: 0 }, error.message.replace(/ \(\d+:\d+\)$/, ''));
  }
}

/** Returns the error at a position of the parsed source, whose first line is not part of the code. */
function parseErrorAt({ line, column }: { line: number; column: number }, message: string): ParseError {
  return { line: Math.max(1, line - 1), column: column + 1, message };
}

const LINE_END = /\r\n|[\n\r\u2028\u2029]/;

function reportParseError(
  compilation: Compilation,
  { block, path }: FieldLocation,
  {
    subject,
    template,
    parseError,
  }: { subject: string; template: { authored: string; code: string }; parseError: ParseError },
): void {
  const lines = template.authored.split(LINE_END);
  const line = Math.min(parseError.line, lines.length);
  const authoredLine = lines[line - 1] ?? '';
  const text = authoredLine.trim();
  // Identifiers that replace references shift the columns of their line.
  const isUnchanged = line === parseError.line && template.code.split(LINE_END)[line - 1] === authoredLine;
  const excerpt = text.length > MAX_LINE_CHARS ? `${text.slice(0, MAX_LINE_CHARS)}…` : text;
  const position = [
    ...(lines.length > 1 ? [`at line ${line}`] : []),
    ...(excerpt === '' ? [] : [`in "${excerpt}"`]),
  ];
  compilation.sink.push(
    diagnostic('SYNTAX_INVALID', {
      blockId: block.id,
      path,
      line,
      ...(isUnchanged && { column: parseError.column }),
      message: `${subject} of "${block.name}" is not valid JavaScript: ${[parseError.message, ...position].join(' ')}.`,
      hint: 'Correct it. Until then the block fails when it is reached.',
    }),
  );
}

import type { Json } from '../json.ts';
import { compileExpression } from '../refs/code.ts';
import { referencesIn } from '../refs/template.ts';
import { diagnostic } from './diagnostics.ts';
import type { Compilation } from './compilation.ts';
import type { CountSource } from './plan.ts';
import type { FieldLocation } from './field-location.ts';
import { checkExpression } from './syntax.ts';

/** Default count of a container in an imported workflow. */
const DEFAULT_COUNT = 5;

/**
 * Returns the number of iterations or branches of a container, or the expression for it; undefined if the value is not
 * a count.
 */
export function readCount(
  compilation: Compilation,
  location: FieldLocation,
  value: Json | undefined,
): CountSource | undefined {
  if (isAbsentOrZero(value)) return readDefaultCount(compilation, location, value);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return { static: value };
  if (typeof value !== 'string') return reportInvalidCount(compilation, location, value);
  const text = value.trim();
  if (/^\d{1,15}$/.test(text)) return { static: Number(text) };
  const { expression, findings } = compileExpression(
    value,
    compilation.context(location, 'container'),
    'loop',
  );
  compilation.report(location, findings, 'expression');
  compilation.addReferences(location, referencesIn(expression), 'container');
  const isArithmetic = /^[\d\s+*/%().-]+$/.test(text) && Number.isNaN(Number(text));
  // The diagnostic about the unknown name is more helpful than "not a number".
  if (expression.bindings.length > 0 || isArithmetic || findings.length > 0) {
    checkExpression(compilation, location, { expression, findings, subject: 'The count' });
    return { expression };
  }
  return reportInvalidCount(compilation, location, value);
}

function isAbsentOrZero(value: Json | undefined): boolean {
  return value == null || value === 0 || (typeof value === 'string' && /^\s*0*\s*$/.test(value));
}

function readDefaultCount(
  compilation: Compilation,
  { block, path }: FieldLocation,
  value: Json | undefined,
): CountSource {
  const isStrict = compilation.workflow.dialect === 'heddle';
  const description = value == null || value === '' ? 'absent' : JSON.stringify(value);
  compilation.sink.push(
    diagnostic(isStrict ? 'COUNT_INVALID' : 'COUNT_DEFAULTED', {
      blockId: block.id,
      path,
      message: `The count of "${block.name}" is ${description}${isStrict ? '' : ` and is read as ${DEFAULT_COUNT}`}.`,
      hint: 'Use a whole number of at least 1, or a reference to one.',
    }),
  );
  return { static: DEFAULT_COUNT };
}

function reportInvalidCount(
  compilation: Compilation,
  { block, path }: FieldLocation,
  value: Json | undefined,
): undefined {
  compilation.sink.push(
    diagnostic('COUNT_INVALID', {
      blockId: block.id,
      path,
      message: `The count of "${block.name}" is ${JSON.stringify(value)}, not a whole number of at least 1.`,
      hint: 'Use a whole number of at least 1, or a reference to one.',
    }),
  );
  return undefined;
}

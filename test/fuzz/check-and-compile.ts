import { expect } from 'vitest';
import { hasErrors } from '../../packages/core/src/plan/diagnostics.ts';
import { compile } from '../../packages/core/src/plan/compile.ts';
import type { ParseResult } from '../../packages/core/src/schema/parse.ts';

/** The result of parsing and compiling a workflow. */
export type Outcome = 'not parsed' | 'not compiled' | 'compiled';

/** Compiles a parsed workflow. Expects no exception, and a result if and only if there is no error. */
export function checkAndCompile({ workflow, diagnostics }: ParseResult): Outcome {
  expect(workflow === undefined).toBe(hasErrors(diagnostics));
  if (!workflow) return 'not parsed';
  const result = compile(workflow);
  expect(result.ok).toBe(!hasErrors(result.diagnostics));
  return result.ok ? 'compiled' : 'not compiled';
}

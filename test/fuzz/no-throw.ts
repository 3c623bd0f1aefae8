import { expect } from 'vitest';
import { hasErrors } from '../../packages/core/src/plan/diagnostics.ts';
import { compile } from '../../packages/core/src/plan/compile.ts';
import type { ParseResult } from '../../packages/core/src/schema/parse.ts';

/** The step that a file reached without an exception. */
export type Fate = 'not read' | 'not compiled' | 'compiled';

/** Checks and compiles a parsed file. Expects a result exactly if there is no error, and never an exception. */
export function fateOf({ workflow, diagnostics }: ParseResult): Fate {
  expect(workflow === undefined).toBe(hasErrors(diagnostics));
  if (!workflow) return 'not read';
  const result = compile(workflow);
  expect(result.ok).toBe(!hasErrors(result.diagnostics));
  return result.ok ? 'compiled' : 'not compiled';
}

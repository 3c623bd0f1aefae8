import type { Compilation } from './compilation.ts';

/** Every check that is about the workflow as a whole. */
export function runChecks(_compilation: Compilation, _starts: readonly string[]): void {}

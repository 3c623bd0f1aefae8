import type { Block } from '../schema/workflow.ts';
import { diagnostic } from './codes.ts';
import type { DiagnosticSink } from './diagnostic-list.ts';

/** Milliseconds one attempt of the block may take; undefined: no limit of its own. */
export function readTimeout(block: Block, found: DiagnosticSink): number | undefined {
  const { timeoutMs } = block;
  if (timeoutMs === undefined) return undefined;
  if (typeof timeoutMs === 'number' && timeoutMs >= 1) return Math.floor(timeoutMs);
  found.push(
    diagnostic('TIMEOUT_INVALID', {
      blockId: block.id,
      path: ['blocks', block.id, 'timeoutMs'],
      message: `timeoutMs of "${block.name}" is ${JSON.stringify(timeoutMs)}.`,
      hint: 'Give a positive number of milliseconds, or remove it.',
    }),
  );
  return undefined;
}

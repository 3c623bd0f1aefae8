import { EXIT } from './exit-code.ts';
import { blockNames } from './input/block-names.ts';
import type { WorkflowFile } from './input/workflow-file.ts';
import type { Io } from './io.ts';
import { countsOf, diagnosticLines } from './render/diagnostics.ts';
import { safeLine, styleFor } from './render/style.ts';

/** Says on stderr why a workflow cannot run, all of it, and gives the exit code. */
export function refuse(
  io: Io,
  { file, text, diagnostics }: WorkflowFile,
  { json }: { json: boolean },
): number {
  const style = styleFor(io.stderr);
  const message = `${file} cannot run: ${countsOf(diagnostics)}.`;
  if (json) {
    io.stderr.write(
      `${JSON.stringify({ error: { code: 'WORKFLOW_INVALID', message, details: { diagnostics } } })}\n`,
    );
    return EXIT.invalid;
  }
  const lines = diagnosticLines(diagnostics, blockNames(text), style);
  io.stderr.write(`${[...lines, `${style.red('✗')} ${safeLine(message)}`].join('\n')}\n`);
  return EXIT.invalid;
}

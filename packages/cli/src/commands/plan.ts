import type { Plan } from '@heddle/core';
import { EXIT } from '../exit-code.ts';
import { blockNames } from '../input/block-names.ts';
import { readWorkflow } from '../input/workflow-file.ts';
import type { WorkflowFile } from '../input/workflow-file.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { mermaid } from '../plan/mermaid.ts';
import { planLines } from '../plan/plan-lines.ts';
import { countsOf, diagnosticLines } from '../render/diagnostics.ts';
import { styleFor } from '../render/style.ts';

export interface PlanOptions {
  json: boolean;
  mermaid: boolean;
  compat: boolean;
}

/** Shows what a workflow is compiled to; 2 and its diagnostics when it has errors. */
export async function plan(io: Io, file: string, options: PlanOptions): Promise<number> {
  const read = await readWorkflow(file, options);
  if (!read.plan) return refuse(io, read, options);
  if (options.json) writeJson(io, { data: read.plan });
  else show(io, read.plan, read, options);
  return EXIT.completed;
}

function refuse(io: Io, { file, text, diagnostics }: WorkflowFile, { json }: PlanOptions): number {
  const style = styleFor(io.stderr);
  const message = `${file} cannot run: ${countsOf(diagnostics)}.`;
  if (json) {
    io.stderr.write(`${JSON.stringify({ error: { code: 'WORKFLOW_INVALID', message, details: { diagnostics } } })}\n`);
  } else {
    const lines = diagnosticLines(diagnostics, blockNames(text), style);
    io.stderr.write(`${[...lines, `${style.red('✗')} ${message}`].join('\n')}\n`);
  }
  return EXIT.invalid;
}

function show(io: Io, compiled: Plan, { file, diagnostics }: WorkflowFile, options: PlanOptions): void {
  if (options.mermaid) {
    io.stdout.write(mermaid(compiled));
    return;
  }
  const style = styleFor(io.stdout);
  const counts = countsOf(diagnostics);
  const lines = [
    ...planLines(compiled, style),
    ...(counts === '' ? [] : ['', `${style.yellow('!')} ${counts}: heddle check ${file}`]),
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}

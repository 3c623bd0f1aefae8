import type { Plan } from '@heddle/core';
import { EXIT } from '../exit-code.ts';
import type { BindingOptions } from '../input/bindings.ts';
import { readWorkflow } from '../input/workflow-file.ts';
import type { WorkflowFile } from '../input/workflow-file.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { mermaidFlowchart } from '../plan/mermaid.ts';
import { planLines } from '../plan/plan-lines.ts';
import { countsText, reportInvalid } from '../render/diagnostics.ts';
import { styleFor } from '../render/style.ts';

export interface PlanOptions extends BindingOptions {
  json: boolean;
  mermaid: boolean;
  compat: boolean;
}

/** Prints the plan of a workflow. Prints its problems and returns 2 if it has errors. */
export async function plan(io: Io, file: string, options: PlanOptions): Promise<number> {
  const workflowFile = await readWorkflow(io, file, options);
  if (!workflowFile.plan) return reportInvalid(io, workflowFile, options);
  if (options.json) writeJson(io, { data: workflowFile.plan });
  else show(io, workflowFile.plan, workflowFile, options);
  return EXIT.completed;
}

function show(io: Io, compiledPlan: Plan, { file, diagnostics }: WorkflowFile, options: PlanOptions): void {
  if (options.mermaid) {
    io.stdout.write(mermaidFlowchart(compiledPlan));
    return;
  }
  const style = styleFor(io.stdout);
  const counts = countsText(diagnostics);
  const lines = [
    ...planLines(compiledPlan, style),
    ...(counts === '' ? [] : ['', `${style.yellow('!')} ${counts}: heddle check ${file}`]),
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}

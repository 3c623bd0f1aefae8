import { EXIT } from '../exit-code.ts';
import type { BindingOptions } from '../input/bindings.ts';
import { readWorkflow } from '../input/workflow-file.ts';
import type { WorkflowFile } from '../input/workflow-file.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { blockNameLookup } from '../input/block-names.ts';
import { countsText, diagnosticLines, hasError } from '../render/diagnostics.ts';
import { formatCount } from '../render/format.ts';
import { sanitizeLine, styleFor } from '../render/style.ts';
import { UsageError } from '../usage-error.ts';

export interface CheckOptions extends BindingOptions {
  json: boolean;
  compat: boolean;
}

/** Checks files and prints all problems. Returns the exit code: 2 if one of the workflows cannot run. */
export async function check(io: Io, files: readonly string[], options: CheckOptions): Promise<number> {
  const { set = [], bindings = [] } = options;
  if (files.length > 1 && set.length + bindings.length > 0)
    throw new UsageError('--set and --bindings fill fields of one file.', 'Check one file at a time.');
  const workflowFiles: WorkflowFile[] = [];
  const { triggerTypes: triggers } = await import('@heddle/blocks/triggers');
  for (const file of files) workflowFiles.push(await readWorkflow(io, file, { ...options, triggers }));
  const diagnostics = workflowFiles.flatMap((workflowFile) => workflowFile.diagnostics);
  if (options.json) writeJson(io, { diagnostics });
  else for (const workflowFile of workflowFiles) report(io, workflowFile);
  return hasError(diagnostics) ? EXIT.invalid : EXIT.completed;
}

function report(io: Io, { file, text, plan, diagnostics }: WorkflowFile): void {
  const style = styleFor(io.stdout);
  const counts = countsText(diagnostics);
  const mark = plan ? style.green('✓') : style.red('✗');
  const summary = plan
    ? `  ${sanitizeLine(plan.workflow.name)}, ${formatCount(Object.keys(plan.blocks).length, 'block')}${counts === '' ? '' : `, ${counts}`}`
    : `  ${counts}`;
  const lines = [
    ...diagnosticLines(diagnostics, blockNameLookup(text), style),
    `${mark} ${style.bold(sanitizeLine(file))}${summary}`,
    ...(diagnostics.length > 0 ? [''] : []),
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle } from '../support/heddle.ts';
import { code, start, workflowFile } from '../support/workflow-file.ts';
import type { WorkflowSettings } from '../support/workflow-file.ts';

/** Returns a new folder with the workflow in `flow.json`. */
export function createFlowFolder(workflow: WorkflowSettings | string): string {
  const folder = createDataFolder();
  writeFileSync(
    join(folder, 'flow.json'),
    typeof workflow === 'string' ? workflow : JSON.stringify(workflowFile(workflow), null, 2),
  );
  return folder;
}

/** Runs `heddle run flow.json` in the folder `cwd`. */
export function run(cwd: string, ...args: string[]): ReturnType<typeof runHeddle> {
  return runHeddle(['run', 'flow.json', ...args], { cwd });
}

/** A workflow that adds two numbers. */
export const ADD_WORKFLOW: WorkflowSettings = {
  blocks: { s: start(), add: code('console.log("adding");\nreturn <start.a> + <start.b>;', { name: 'Add' }) },
  edges: ['s > add'],
};

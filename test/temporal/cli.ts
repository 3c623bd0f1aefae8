import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, startHeddle } from '../support/heddle.ts';
import type { CommandResult, HeddleOptions, RunningCommand } from '../support/heddle.ts';
import { workflowFile } from '../support/workflow-file.ts';
import type { WorkflowSettings } from '../support/workflow-file.ts';

/** A folder with a workflow in `flow.json`, where commands use one server and one queue. */
export interface Project {
  cwd: string;
  queue: string;
  /** `--address`, `--namespace`, `--queue`. */
  serverArgs: readonly string[];
  run(...args: string[]): Promise<CommandResult>;
  start(command: readonly string[], options?: HeddleOptions): RunningCommand;
  /** Returns all runs of the folder, newest first. */
  listRuns(): Promise<{ runId: string; status: string }[]>;
}

/** The options with which a command runs workflows on Temporal. */
export const TEMPORAL_RUNTIME_ARGS = ['--runtime', 'temporal'] as const;

/** Creates a project that uses the server. */
export function createProject(
  { address, namespace }: { address: string; namespace: string },
  workflow: WorkflowSettings,
): Project {
  const cwd = createDataFolder();
  const queue = `cli-${randomUUID()}`;
  const serverArgs = ['--address', address, '--namespace', namespace, '--queue', queue];
  writeFileSync(join(cwd, 'flow.json'), JSON.stringify(workflowFile(workflow), null, 2));
  return {
    cwd,
    queue,
    serverArgs,
    run: (...args) =>
      runHeddle(['run', 'flow.json', ...TEMPORAL_RUNTIME_ARGS, ...serverArgs, ...args], { cwd }),
    start: (command, options) => startHeddle([...command, ...serverArgs], { cwd, ...options }),
    listRuns: async () => {
      const { stdout } = await runHeddle(['runs', 'list', '--json'], { cwd });
      return (JSON.parse(stdout) as { data: { runId: string; status: string }[] }).data;
    },
  };
}

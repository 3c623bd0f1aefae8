import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** Bundles the workflow whose timers use the clock of a test. Returns the path of the bundle. */
export async function bundleClocked(): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('workflow.ts', import.meta.url)),
    logger: new DefaultLogger('WARN'),
  });
  const path = join(await mkdtemp(join(tmpdir(), 'heddle-clocked-')), 'bundle.js');
  await writeFile(path, code);
  return path;
}

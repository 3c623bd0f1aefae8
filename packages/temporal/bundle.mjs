import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

// The workflows in one file, made with the version of the SDK that will run them: users need no bundler.
const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const { code } = await bundleWorkflowCode({
  workflowsPath: at('./dist/workflow/main.js'),
  logger: new DefaultLogger('WARN'),
});
await writeFile(at('./dist/workflow-bundle.js'), code);

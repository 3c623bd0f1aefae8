import { writeFile } from 'node:fs/promises';
import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const repository = at('../..');

/** `code` with a smaller source map: without texts of sources, and with paths that every machine has. */
function withLeanMap(code) {
  // The worker refuses a bundle without a map. It takes positions for stack traces from it, and needs no texts.
  const mark = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';
  const start = code.lastIndexOf(mark);
  if (start < 0)
    throw new Error('The bundle of the workflows has no inline source map where one is expected.');
  const { version, mappings, names, sources } = JSON.parse(
    Buffer.from(code.slice(start + mark.length), 'base64').toString(),
  );
  const map = { version, file: 'workflow-bundle.js', sources: sources.map(shortened), names, mappings };
  return `${code.slice(0, start)}${mark}${Buffer.from(JSON.stringify(map)).toString('base64')}\n`;
}

function shortened(source) {
  return isAbsolute(source)
    ? relative(repository, source).replaceAll(sep, '/')
    : source.replace(repository, '');
}

// The workflows in one file, made with the version of the SDK that will run them: users need no bundler.
const { code } = await bundleWorkflowCode({
  workflowsPath: at('./dist/workflow/main.js'),
  logger: new DefaultLogger('WARN'),
});
// The SDK takes a stack trace of every promise that a workflow makes, frame by frame through the source map: a third of
// the time of a short run. The first frame tells where a fault of ours is. Workflows cannot change it: globals are frozen.
const shallow = 'Error.stackTraceLimit = 1;';
await writeFile(at('./dist/workflow-bundle.js'), shallow + withLeanMap(code));

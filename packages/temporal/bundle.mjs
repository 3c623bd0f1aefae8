import { writeFile } from 'node:fs/promises';
import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const toAbsolutePath = (path) => fileURLToPath(new URL(path, import.meta.url));
const repository = toAbsolutePath('../..');

/** Returns `code` with a smaller source map: without sources, and with paths relative to the repository. */
function withSmallSourceMap(code) {
  // The worker requires a source map, but uses it only for positions in stack traces.
  const prefix = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';
  const start = code.lastIndexOf(prefix);
  if (start < 0) throw new Error('The workflow bundle has no inline source map at its end.');
  const { version, mappings, names, sources } = JSON.parse(
    Buffer.from(code.slice(start + prefix.length), 'base64').toString(),
  );
  const map = { version, file: 'workflow-bundle.js', sources: sources.map(toRelativePath), names, mappings };
  return `${code.slice(0, start)}${prefix}${Buffer.from(JSON.stringify(map)).toString('base64')}\n`;
}

function toRelativePath(source) {
  return isAbsolute(source)
    ? relative(repository, source).replaceAll(sep, '/')
    : source.replace(repository, '');
}

// All workflows in one file, bundled with the version of the SDK that runs them. Users need no bundler.
const { code } = await bundleWorkflowCode({
  workflowsPath: toAbsolutePath('./dist/workflow/main.js'),
  logger: new DefaultLogger('WARN'),
});
// The SDK takes a stack trace of each promise in a workflow and maps each stack frame. This takes a third of the time
// of a short run. The first stack frame is enough to locate an error. Workflow code cannot set this limit itself,
// because globals are frozen.
const stackTraceLimitCode = 'Error.stackTraceLimit = 1;';
await writeFile(toAbsolutePath('./dist/workflow-bundle.js'), stackTraceLimitCode + withSmallSourceMap(code));

// Replacements for modules that are imported when the CLI starts, but rarely or only partly used.

import { readFile } from 'node:fs/promises';

/**
 * Replacements for the modules of Node that commander imports. Importing these two loads streams, sockets and readline:
 * a tenth of the start time of a command. `process` is a global in any case, and commander spawns only subcommands that
 * are separate programs.
 */
const COMMANDER_MODULES = {
  'node:process': 'export default process;',
  'node:child_process':
    "export default { get spawn() { return process.getBuiltinModule('node:child_process').spawn; } };",
};

/**
 * Replacement for graphology, which is loaded when the first graph is created: the compiler creates a graph only for a
 * workflow with a cycle.
 */
const LAZY_GRAPHOLOGY =
  "export function DirectedGraph(options) { return new (require('graphology').DirectedGraph)(options); }";

/** An esbuild plugin: makes the bundle load and evaluate less code before a command begins. */
export const leanImports = {
  name: 'lean-imports',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:(process|child_process)$/ }, ({ path, importer }) =>
      importer.includes('node_modules/commander/') ? { path, namespace: 'lean' } : undefined,
    );
    onResolve({ filter: /^graphology$/ }, ({ path, kind, resolveDir }) =>
      // The replacement requires the real module from the folder of the importing file.
      kind === 'import-statement' ? { path, namespace: 'lean', pluginData: resolveDir } : undefined,
    );
    // The manifest, with only the properties that the CLI reads.
    onLoad({ filter: /[\\/]packages[\\/]cli[\\/]package\.json$/ }, async ({ path }) => {
      const { version, peerDependencies } = JSON.parse(await readFile(path, 'utf8'));
      return { contents: JSON.stringify({ version, peerDependencies }), loader: 'json' };
    });
    onLoad({ filter: /.*/, namespace: 'lean' }, ({ path, pluginData }) =>
      path === 'graphology'
        ? { contents: LAZY_GRAPHOLOGY, resolveDir: pluginData }
        : { contents: COMMANDER_MODULES[path] },
    );
  },
};

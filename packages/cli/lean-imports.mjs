// Modules in place of some that libraries import at their start and hardly ever use.

/**
 * What commander imports of Node. To make modules of these two loads streams, sockets and readline: a tenth of what a
 * command takes to start. The process is there in any case, and only commands that are separate programs are spawned.
 */
const OF_COMMANDER = {
  'node:process': 'export default process;',
  'node:child_process':
    "export default { get spawn() { return process.getBuiltinModule('node:child_process').spawn; } };",
};

/** Evaluated when the first graph is made: the compiler makes one only of a workflow with a circle in it. */
const GRAPHOLOGY =
  "export function DirectedGraph(options) { return new (require('graphology').DirectedGraph)(options); }";

/** An esbuild plugin: the bundle loads and evaluates less before a command begins. */
export const leanImports = {
  name: 'lean-imports',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:(process|child_process)$/ }, ({ path, importer }) =>
      importer.includes('node_modules/commander/') ? { path, namespace: 'lean' } : undefined,
    );
    onResolve({ filter: /^graphology$/ }, ({ path, kind, resolveDir }) =>
      // The module below requires the real one, from where it was imported.
      kind === 'import-statement' ? { path, namespace: 'lean', pluginData: resolveDir } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'lean' }, ({ path, pluginData }) =>
      path === 'graphology'
        ? { contents: GRAPHOLOGY, resolveDir: pluginData }
        : { contents: OF_COMMANDER[path] },
    );
  },
};

// Replacements of modules that libraries import at their start but rarely use.

/**
 * The modules of Node that commander imports. Importing these two loads streams, sockets and readline, a tenth of the start time
 * of a command. `process` is a global in any case, and only commands that are separate programs are spawned.
 */
const OF_COMMANDER = {
  'node:process': 'export default process;',
  'node:child_process':
    "export default { get spawn() { return process.getBuiltinModule('node:child_process').spawn; } };",
};

/** Loaded when the first graph is created: the compiler creates a graph only for a workflow with a cycle. */
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
      // The replacement requires the real module from the folder of the importing file.
      kind === 'import-statement' ? { path, namespace: 'lean', pluginData: resolveDir } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'lean' }, ({ path, pluginData }) =>
      path === 'graphology'
        ? { contents: GRAPHOLOGY, resolveDir: pluginData }
        : { contents: OF_COMMANDER[path] },
    );
  },
};

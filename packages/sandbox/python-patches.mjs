/** Patches of Pyodide, only where it cannot otherwise run in a V8 isolate without a browser or Node.js. */
export const PATCHES = {
  'pyodide.asm.mjs': [
    {
      reason:
        'Random bytes of the "shell" environment come from a shell command; ours come from crypto.getRandomValues.',
      from: 'if(ENVIRONMENT_IS_SHELL){return view=>{if(!os.system){',
      to: 'if(false){return view=>{if(!os.system){',
    },
    {
      reason:
        'A memory snapshot that is larger than the initial memory does not fit: the memory is grown before it is filled.',
      from: 'return Module.HEAP8.set(t),l};',
      to: 'if(t.length>Module.HEAP8.length&&!Module.growMemory(t.length))throw new Error("The memory snapshot does not fit into the memory that is allowed.");return Module.HEAP8.set(t),l};',
    },
  ],
};

/**
 * Returns the `text` of a file with each patch applied. Throws unless each patch matches exactly once, since its effect
 * would be unknown.
 */
export function patch(file, text) {
  for (const { reason, from, to } of PATCHES[file]) {
    const matchCount = text.split(from).length - 1;
    if (matchCount !== 1) {
      throw new Error(
        `${file} of pyodide has ${matchCount} matches for a patch that needs exactly one. ${reason}`,
      );
    }
    text = text.replace(from, () => to);
  }
  return text;
}

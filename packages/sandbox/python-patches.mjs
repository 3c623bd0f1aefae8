/** What is changed in Pyodide: where it has no other way for a V8 isolate without a browser or Node.js around it. */
export const PATCHES = {
  'pyodide.asm.mjs': [
    {
      why: 'Random bytes of the "shell" environment come from a shell command; ours come from crypto.getRandomValues.',
      from: 'if(ENVIRONMENT_IS_SHELL){return view=>{if(!os.system){',
      to: 'if(false){return view=>{if(!os.system){',
    },
    {
      why: 'A memory snapshot that is larger than the first memory does not fit: the memory is grown before it is filled.',
      from: 'return Module.HEAP8.set(t),l};',
      to: 'if(t.length>Module.HEAP8.length&&!Module.growMemory(t.length))throw new Error("The memory snapshot does not fit into the memory that is allowed.");return Module.HEAP8.set(t),l};',
    },
  ],
};

/** The `text` of a file with each change made; a place that is not there exactly once means that nobody knows what the change would do. */
export function patch(file, text) {
  for (const { why, from, to } of PATCHES[file]) {
    const places = text.split(from).length - 1;
    if (places !== 1) {
      throw new Error(`${file} of pyodide has ${places} places for a change that needs one. ${why}`);
    }
    text = text.replace(from, () => to);
  }
  return text;
}

import { define } from '../primordials.ts';

/** What a host puts into a fresh context for the interpreter's start; taken away before user code. */
export interface Files {
  readonly wasm: ArrayBuffer;
  readonly stdlib: ArrayBuffer;
  readonly snapshot: ArrayBuffer | null;
  /** The packages of an image, in an archive. */
  readonly site: ArrayBuffer | null;
}

/** Names that only the start needs. */
const TEMPORARY = ['read', 'readbuffer', 'load', 'location'];

/**
 * Takes away what holds memory that no limit of the isolate sees. WebAssembly stays, since the interpreter is made of it:
 * its memory has a limit of its own, set for the process.
 */
function removeBuiltIns(): void {
  const global = globalThis as Record<string, unknown>;
  delete global['SharedArrayBuffer'];
  delete global['Atomics'];
  delete (ArrayBuffer.prototype as unknown as Record<string, unknown>)['resize'];
}

/** The asynchronous functions of WebAssembly finish on threads that an isolate has not: these finish at once. */
function installWebAssembly(): void {
  const wasm = WebAssembly as unknown as Record<string, unknown>;
  const { Module, Instance } = WebAssembly;
  define(wasm, 'compile', async (bytes: WasmSource) => new Module(bytes));
  define(wasm, 'instantiate', async (source: object, imports: object) => {
    if (source instanceof Module) return new Instance(source, imports);
    const module = new Module(source as WasmSource);
    return { module, instance: new Instance(module, imports) };
  });
  delete wasm['compileStreaming'];
  delete wasm['instantiateStreaming'];
}

/** Lets Emscripten find the environment that it calls a shell: files come from functions, all else is missing. */
export function installShell(files: Files): void {
  removeBuiltIns();
  installWebAssembly();
  const binaries: Record<string, ArrayBuffer> = {
    __proto__: null as never,
    '/pyodide/pyodide.asm.wasm': files.wasm,
    '/pyodide/python_stdlib.zip': files.stdlib,
  };
  define(globalThis, 'readbuffer', (path: string) => {
    const bytes = binaries[path];
    if (bytes === undefined) throw new Error('There is no file ' + path);
    delete binaries[path];
    return bytes;
  });
  define(globalThis, 'read', (path: string) => {
    throw new Error('There is no file ' + path);
  });
  define(globalThis, 'load', () => undefined);
  define(globalThis, 'location', { href: 'file:///pyodide/', toString: () => 'file:///pyodide/' });
}

/** Takes the start's tools away. */
export function removeShell(): void {
  for (const name of TEMPORARY) delete (globalThis as Record<string, unknown>)[name];
}

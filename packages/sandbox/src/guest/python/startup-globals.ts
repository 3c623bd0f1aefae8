import { define } from '../primordials.ts';

/** Files for the start of the interpreter; removed before user code runs. */
export interface StartupFiles {
  readonly wasm: ArrayBuffer;
  readonly stdlib: ArrayBuffer;
  readonly snapshot: ArrayBuffer | null;
  /** The packages of an image, as a ZIP archive. */
  readonly site: ArrayBuffer | null;
}

/** Globals that only the start needs. */
const STARTUP_GLOBALS = ['read', 'readbuffer', 'load', 'location'];

/**
 * Removes features that use memory outside the isolate's limit. WebAssembly remains: the interpreter is a
 * WebAssembly module. Its memory has a separate limit, set for the process.
 */
function removeBuiltIns(): void {
  const global = globalThis as Record<string, unknown>;
  delete global['SharedArrayBuffer'];
  delete global['Atomics'];
  delete (ArrayBuffer.prototype as unknown as Record<string, unknown>)['resize'];
}

/**
 * Replaces the asynchronous WebAssembly functions, which need threads that an isolate does not have, with ones that
 * finish immediately.
 */
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

/**
 * Makes the isolate look to Emscripten like a JavaScript shell, which it supports: it has functions that read files,
 * and most other interfaces do not exist.
 */
export function installStartupGlobals(files: StartupFiles): void {
  removeBuiltIns();
  installWebAssembly();
  const binaries: Record<string, ArrayBuffer> = {
    __proto__: null as never,
    '/pyodide/pyodide.asm.wasm': files.wasm,
    '/pyodide/python_stdlib.zip': files.stdlib,
  };
  define(globalThis, 'readbuffer', (path: string) => {
    const bytes = binaries[path];
    if (bytes === undefined) throw new Error('No such file: ' + path);
    delete binaries[path];
    return bytes;
  });
  define(globalThis, 'read', (path: string) => {
    throw new Error('No such file: ' + path);
  });
  define(globalThis, 'load', () => undefined);
  define(globalThis, 'location', { href: 'file:///pyodide/', toString: () => 'file:///pyodide/' });
}

/** Removes the globals that only the start needs. */
export function removeStartupGlobals(): void {
  for (const name of STARTUP_GLOBALS) delete (globalThis as Record<string, unknown>)[name];
}

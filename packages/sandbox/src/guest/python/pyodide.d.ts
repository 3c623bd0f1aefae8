declare module 'pyodide/pyodide.asm.mjs' {
  const createPyodideModule: unknown;
  export default createPyodideModule;
}

declare module '*.py' {
  const source: string;
  export default source;
}

/** Content of `pyodide-lock.json`. Its `packages` is empty, because no packages are downloaded. */
declare const PYODIDE_LOCK: string;

type WasmSource = ArrayBuffer | ArrayBufferView;

/** The synchronous part of WebAssembly in a V8 isolate. */
declare const WebAssembly: {
  readonly Module: new (source: WasmSource) => object;
  readonly Instance: new (module: object, imports?: object) => object;
};

declare module 'pyodide/pyodide.asm.mjs' {
  const createPyodideModule: unknown;
  export default createPyodideModule;
}

declare module '*.py' {
  const source: string;
  export default source;
}

/** What Pyodide is told about packages that it could load from elsewhere: none. */
declare const PYODIDE_LOCK: string;

type WasmSource = ArrayBuffer | ArrayBufferView;

/** The synchronous part of what a V8 isolate has of WebAssembly. */
declare const WebAssembly: {
  readonly Module: new (source: WasmSource) => object;
  readonly Instance: new (module: object, imports?: object) => object;
};

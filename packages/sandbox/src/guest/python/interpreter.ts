import failure from '../../python/heddle_failure.py';
import http from '../../python/heddle_http.py';
import loader from '../../python/heddle_loader.py';
import requests from '../../python/heddle_requests.py';
import runtime from '../../python/heddle_runtime.py';
import source from '../../python/heddle_source.py';
import streams from '../../python/heddle_streams.py';
import sync from '../../python/heddle_sync.py';
import values from '../../python/heddle_values.py';
import { bridge } from './bridge.ts';
import { removeStartupGlobals, type StartupFiles } from './startup-globals.ts';
import { type FileSystem, SITE_SETUP, mountSite } from './site.ts';

/** Sources of the Python modules in every interpreter, by name. An image's own `requests` takes precedence. */
const MODULE_SOURCES = {
  heddle_values: values,
  heddle_streams: streams,
  heddle_source: source,
  heddle_sync: sync,
  heddle_failure: failure,
  heddle_http: http,
  heddle_runtime: runtime,
  requests,
};

/** The Python side of the bridge. */
export interface Runtime {
  /** Starts a job. It sends its result or error through the bridge, before this returns or later. */
  start(...args: (string | number)[]): void;
}

interface InstallFunction {
  (sources: string): void;
  destroy(): void;
}

interface Pyodide {
  runPython(code: string): unknown;
  pyimport(name: string): Runtime & { connect(bridge: object): void };
  makeMemorySnapshot(): Uint8Array;
  readonly FS: FileSystem;
  readonly _module: { readonly LDSO: { readonly loadedLibsByName: object } };
  readonly _api?: { config?: { _loadSnapshot?: unknown } };
}

let pyodide: Pyodide | undefined;
/** Number of shared libraries that were loaded when the interpreter had started. */
let initialLibraryCount = 0;

const write = (line: string): void => void bridge.print(line);

async function load(snapshot: ArrayBuffer | null): Promise<Pyodide> {
  // Both modules inspect the global environment when they are evaluated, so they are imported after the startup globals
  // are installed.
  const { default: createPyodideModule } = await import('pyodide/pyodide.asm.mjs');
  const { loadPyodide } = await import('pyodide');
  const options = {
    createPyodideModule,
    indexURL: '/pyodide/',
    lockFileContents: PYODIDE_LOCK,
    jsglobals: globalThis,
    env: { HOME: '/home/user', PYTHONINSPECT: '' },
    stdin: () => null,
    stdout: write,
    stderr: write,
    ...(snapshot === null ? { _makeSnapshot: true } : { _loadSnapshot: new Uint8Array(snapshot) }),
  };
  return (await loadPyodide(options as object)) as unknown as Pyodide;
}

/**
 * Starts the interpreter. From a snapshot, it is ready for jobs. Without one, it runs no jobs: it only serves
 * `evaluate`, `readFile` and `makeSnapshot`.
 */
export async function start({ snapshot, site }: StartupFiles): Promise<Runtime> {
  pyodide = await load(snapshot);
  if (pyodide._api?.config !== undefined) delete pyodide._api.config._loadSnapshot;
  removeStartupGlobals();
  initialLibraryCount = countLibraries(pyodide);
  if (site !== null) {
    mountSite(pyodide.FS, site);
    pyodide.runPython(SITE_SETUP);
  }
  if (snapshot === null) {
    const install = pyodide.runPython(loader + '\ninstall') as InstallFunction;
    install(JSON.stringify(MODULE_SOURCES));
    // A snapshot cannot contain references from this realm to Python objects.
    install.destroy();
    return { start: () => undefined };
  }
  const module = pyodide.pyimport('heddle_runtime');
  module.connect(bridge);
  return module;
}

const countLibraries = ({ _module: { LDSO } }: Pyodide): number => Object.keys(LDSO.loadedLibsByName).length;

function requireInterpreter(): Pyodide {
  if (pyodide === undefined) throw new Error('The interpreter has not started');
  return pyodide;
}

const copyOf = (bytes: Uint8Array): ArrayBuffer =>
  bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;

/**
 * Returns a snapshot of the interpreter's memory, from which other interpreters start. Throws if a shared library was
 * loaded after the start: interpreters from such a snapshot would crash.
 */
export function makeSnapshot(): ArrayBuffer {
  const python = requireInterpreter();
  if (countLibraries(python) !== initialLibraryCount) {
    throw new Error('A shared library was loaded; a snapshot cannot contain its functions');
  }
  return copyOf(python.makeMemorySnapshot());
}

/** Returns the value of Python code as a string. */
export function evaluate(code: string): string {
  return String(requireInterpreter().runPython(code));
}

/** Returns the bytes of a file in the interpreter's file system. */
export function readFile(path: string): ArrayBuffer {
  return copyOf(requireInterpreter().FS.readFile(path));
}

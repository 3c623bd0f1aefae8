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
import { removeShell, type Files } from './shell.ts';
import { type FileSystem, FIND_SITE, mountSite } from './site.ts';

/** The modules that every interpreter has, by name; `requests` gives way to an image's own. */
const MODULES = {
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
  /** Runs a job; its answer leaves by the bridge, now or in a later entry. */
  start(...args: (string | number)[]): void;
}

interface Install {
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
/** Libraries that are there from the start. */
let libraries = 0;

const write = (line: string): void => void bridge.print(line);

async function load(snapshot: ArrayBuffer | null): Promise<Pyodide> {
  // Both look at their surroundings when they are evaluated, so not before the shell stands.
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

/** An interpreter that is ready for a job: from the snapshot, or from nothing where a snapshot is to be made of it. */
export async function start({ snapshot, site }: Files): Promise<Runtime> {
  pyodide = await load(snapshot);
  if (pyodide._api?.config !== undefined) delete pyodide._api.config._loadSnapshot;
  removeShell();
  libraries = countLibraries(pyodide);
  if (site !== null) {
    mountSite(pyodide.FS, site);
    pyodide.runPython(FIND_SITE);
  }
  if (snapshot === null) {
    const install = pyodide.runPython(loader + '\ninstall') as Install;
    install(JSON.stringify(MODULES));
    // What this realm holds of Python's objects cannot be in a snapshot.
    install.destroy();
    return { start: () => undefined };
  }
  const module = pyodide.pyimport('heddle_runtime');
  module.connect(bridge);
  return module;
}

const countLibraries = ({ _module: { LDSO } }: Pyodide): number => Object.keys(LDSO.loadedLibsByName).length;

function running(): Pyodide {
  if (pyodide === undefined) throw new Error('There is no interpreter');
  return pyodide;
}

const copyOf = (bytes: Uint8Array): ArrayBuffer =>
  bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;

/** The interpreter's memory, from which others start. Refuses one that would die at its first use. */
export function makeSnapshot(): ArrayBuffer {
  const python = running();
  if (countLibraries(python) !== libraries) {
    throw new Error('A library was loaded; a snapshot has no place for its functions');
  }
  return copyOf(python.makeMemorySnapshot());
}

/** The text of the value of Python code. */
export function evaluate(code: string): string {
  return String(running().runPython(code));
}

/** The bytes of a file of the interpreter's file system. */
export function readFile(path: string): ArrayBuffer {
  return copyOf(running().FS.readFile(path));
}

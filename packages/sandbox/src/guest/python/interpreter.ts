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

/** The modules that every interpreter has, by name; `requests` gives way to an image's own. */
const MODULES = {
  heddle_values: values,
  heddle_streams: streams,
  heddle_source: source,
  heddle_sync: sync,
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
  readonly _api?: { config?: { _loadSnapshot?: unknown } };
}

let pyodide: Pyodide | undefined;

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
export async function start({ snapshot }: Files): Promise<Runtime> {
  pyodide = await load(snapshot);
  if (pyodide._api?.config !== undefined) delete pyodide._api.config._loadSnapshot;
  removeShell();
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

/** The interpreter's memory, from which others start. */
export function makeSnapshot(): ArrayBuffer {
  if (pyodide === undefined) throw new Error('There is no interpreter');
  const bytes = pyodide.makeMemorySnapshot();
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
}

import {
  define,
  defineOpening,
  each,
  freeze,
  get,
  getWeak,
  has,
  NativeError,
  NativeMap,
  NativePromise,
  NativeSet,
  NativeWeakMap,
  now,
  ownKeys,
  put,
  set,
  setWeak,
  slice,
  startsWith,
  stringify,
  toText,
} from './primordials.ts';
import { send, wasTouched } from './link.ts';
import { BUILTIN_NAMES } from '../builtins.ts';
import type { ModuleFault } from '../protocol.ts';

/** One module of the image: its value, or why it has none, known once it was loaded. */
interface Module {
  readonly load: () => unknown;
  loaded: boolean;
  value: unknown;
  fault: unknown;
  failed: boolean;
  /** What `import` gives of it. */
  namespace: object | undefined;
}

type Names = readonly string[];

const modules = new NativeMap<string, Module>();
/** Errors of ours, so that the failure of a job tells them from those that user code makes. */
const faults = new NativeWeakMap<object, ModuleFault>();
const builtins = new NativeSet(BUILTIN_NAMES);
let names = '';

/** Whether an error was thrown because a module is missing, and which kind. */
export function faultOf(error: unknown): ModuleFault | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  return getWeak(faults, error);
}

function fault(kind: ModuleFault, code: string, message: string): Error {
  const error = new NativeError(message) as Error & { code: string };
  define(error, 'code', code);
  setWeak(faults, error, kind);
  return error;
}

/** What a member of a missing builtin throws when it is used. */
function deny(builtin: string, member: string): Error {
  const what = member === '' ? builtin : builtin + '.' + member;
  const message = 'The Node.js module ' + what + ' is not available in the sandbox';
  return fault('builtin', 'ERR_SANDBOX_BUILTIN', message);
}

/** Stands for a builtin, or for what is missing of one: it can be looked at, and throws when it is used. */
function builtin(name: string, base: object): object {
  const stand: object = new Proxy(base, {
    __proto__: null,
    get(target: Record<string | symbol, unknown>, key: string | symbol) {
      if (key in target || typeof key === 'symbol') return target[key];
      if (key === 'default') return stand;
      // What tells kinds of modules and promises apart is looked up in every module.
      if (key === '__esModule' || key === 'then' || key === 'toJSON') return undefined;
      if (key === 'constants' || key === 'promises') return builtin(name + '.' + key, {});
      return function () {
        throw deny(name, key);
      };
    },
  } as ProxyHandler<object>);
  return stand;
}

function load(module: Module): unknown {
  if (!module.loaded) {
    module.loaded = true;
    try {
      module.value = module.load();
    } catch (error) {
      module.failed = true;
      module.fault = error;
    }
  }
  if (module.failed) throw module.fault;
  return module.value;
}

function find(specifier: unknown): Module {
  const name = toText(specifier);
  const module = get(modules, name);
  if (module !== undefined) return module;
  const bare = startsWith(name, 'node:') ? slice(name, 5) : name;
  if (startsWith(name, 'node:') || has(builtins, bare))
    throw fault(
      'builtin',
      'ERR_SANDBOX_BUILTIN',
      'The Node.js module ' + bare + ' is not available in the sandbox',
    );
  throw fault(
    'module',
    'ERR_MODULE_NOT_IN_IMAGE',
    names === ''
      ? 'The module ' + stringify(name) + ' cannot be loaded: the code runs without an image of dependencies'
      : 'The module ' + stringify(name) + ' is not in the image, which has: ' + names,
  );
}

/** The module as `require` gives it. */
function require(specifier: unknown): unknown {
  return load(find(specifier));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** The module as `import` gives it: a CommonJS module's exports are its default, its properties names. */
function namespaceOf(specifier: unknown): object {
  const module = find(specifier);
  const value = load(module);
  if (module.namespace !== undefined) return module.namespace;
  if (isObject(value) && value['__esModule'] === true) {
    module.namespace = value;
    return value;
  }
  const namespace: object = { __proto__: null } as never;
  if (isObject(value)) {
    const keys = ownKeys(value);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      if (typeof key === 'string' && key !== 'default') define(namespace, key, value[key]);
    }
  }
  define(namespace, 'default', value);
  module.namespace = namespace;
  return namespace;
}

/** What a rewritten static import reads its names from; names that a module has not are faults, as in modules. */
export function importNames(specifier: unknown, wanted: Names): object {
  const namespace = namespaceOf(specifier);
  for (let i = 0; i < wanted.length; i++) {
    const name = wanted[i] as string;
    if (!(name in namespace))
      throw new SyntaxError('The module ' + stringify(specifier) + ' does not export ' + stringify(name));
  }
  return namespace;
}

/** What `import()` gives. */
export function importLater(specifier: unknown): Promise<object> {
  return new NativePromise<object>((resolve) => resolve(namespaceOf(specifier)));
}

/** What the bundle of an image calls; gone before user code runs. */
const image = {
  /** Adds a module. `eager`: it is loaded now, which is what snapshots keep. */
  add(name: string, factory: () => unknown, eager: boolean): void {
    const module: Module = {
      load: factory,
      loaded: false,
      value: undefined,
      fault: undefined,
      failed: false,
      namespace: undefined,
    };
    set(modules, name, module);
    if (!eager) return;
    names += (names === '' ? '' : ', ') + name;
    try {
      load(module);
    } catch {
      // Kept for those who require it, and for report().
    }
  },
  builtin,
  /** The clock for those who may read it while an image is made. */
  now,
  /** A digest, or HMAC with a key, of a binary string: at once, where the web's are promises. */
  hash: (algorithm: string, key: string | null, data: string): unknown =>
    send('H' + algorithm + ':' + (key === null ? '-' : '+' + key.length) + ':' + (key ?? '') + data),
  random: (bytes: number): unknown => send('R' + bytes),
  /** The modules that could not be loaded, and whether the process was asked for something, as JSON; for the builder. */
  report(): string {
    const failed: unknown[] = [];
    each(modules, (module, name) => {
      if (!module.failed) return;
      const error = module.fault as { name?: unknown; message?: unknown; stack?: unknown } | null;
      put(failed, {
        __proto__: null,
        module: name,
        builtin: faultOf(error) === 'builtin',
        message: toText(error?.message ?? error),
        stack: toText(error?.stack ?? ''),
      });
    });
    return stringify({ __proto__: null, failed, touched: wasTouched() });
  },
};

let opening: { close(): void } | undefined;

/** Lets the bundle of an image in. */
export function openModules(): void {
  opening = defineOpening('__heddleImage', freeze(image));
}

/** Closes the way in, and gives user code `require` where there is an image. */
export function sealModules(): void {
  opening?.close();
  if (names !== '') define(globalThis, 'require', require);
}

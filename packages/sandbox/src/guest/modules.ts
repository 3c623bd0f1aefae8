import {
  define,
  defineTemporaryGlobal,
  forEach,
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
  append,
  set,
  setWeak,
  slice,
  startsWith,
  stringify,
  toText,
} from './primordials.ts';
import { send, wasHostUsedBeforeConnect } from './channel.ts';
import { BUILTIN_NAMES } from '../builtins.ts';
import type { MissingModuleKind } from '../protocol.ts';

/** One module of the image, which has the packages of the code. Loading it sets `value` or `error`. */
interface Module {
  readonly load: () => unknown;
  isLoaded: boolean;
  value: unknown;
  error: unknown;
  hasFailed: boolean;
  /** The namespace object that `import` returns. */
  namespace: object | undefined;
}

type Names = readonly string[];

const modules = new NativeMap<string, Module>();
/** The errors that this file created, to distinguish them from similar errors of user code. */
const missingModuleErrors = new NativeWeakMap<object, MissingModuleKind>();
const builtins = new NativeSet(BUILTIN_NAMES);
let eagerModuleNames = '';

/** Returns the kind of missing module that caused an error, if that was the cause. */
export function missingModuleKindOf(error: unknown): MissingModuleKind | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  return getWeak(missingModuleErrors, error);
}

function moduleError(kind: MissingModuleKind, code: string, message: string): Error {
  const error = new NativeError(message) as Error & { code: string };
  define(error, 'code', code);
  setWeak(missingModuleErrors, error, kind);
  return error;
}

/** Returns the error for using a member of a missing builtin. */
function unavailableError(builtin: string, member: string): Error {
  const name = member === '' ? builtin : builtin + '.' + member;
  const message = 'The Node.js module ' + name + ' is not available in the sandbox';
  return moduleError('builtin', 'ERR_SANDBOX_BUILTIN', message);
}

/** Returns a stand-in for a builtin or a missing part of one: it can be inspected, but throws when used. */
function createStandIn(name: string, base: object): object {
  const standIn: object = new Proxy(base, {
    __proto__: null,
    get(target: Record<string | symbol, unknown>, key: string | symbol) {
      if (key in target || typeof key === 'symbol') return target[key];
      if (key === 'default') return standIn;
      // Loaders read these of every object to find out which kind of module it is, or whether it is a promise.
      if (key === '__esModule' || key === 'then' || key === 'toJSON') return undefined;
      if (key === 'constants' || key === 'promises') return createStandIn(name + '.' + key, {});
      return function () {
        throw unavailableError(name, key);
      };
    },
  } as ProxyHandler<object>);
  return standIn;
}

function load(module: Module): unknown {
  if (!module.isLoaded) {
    module.isLoaded = true;
    try {
      module.value = module.load();
    } catch (error) {
      module.hasFailed = true;
      module.error = error;
    }
  }
  if (module.hasFailed) throw module.error;
  return module.value;
}

function findModule(specifier: unknown): Module {
  const name = toText(specifier);
  const module = get(modules, name);
  if (module !== undefined) return module;
  const bareName = startsWith(name, 'node:') ? slice(name, 5) : name;
  if (startsWith(name, 'node:') || has(builtins, bareName))
    throw moduleError(
      'builtin',
      'ERR_SANDBOX_BUILTIN',
      'The Node.js module ' + bareName + ' is not available in the sandbox',
    );
  throw moduleError(
    'module',
    'ERR_MODULE_NOT_IN_IMAGE',
    eagerModuleNames === ''
      ? 'The module ' + stringify(name) + ' cannot be loaded: the code runs without an image of dependencies'
      : 'The module ' + stringify(name) + ' is not in the image, which has: ' + eagerModuleNames,
  );
}

/** Returns the module as `require` does. */
function require(specifier: unknown): unknown {
  return load(findModule(specifier));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/**
 * Returns the module as `import` does: for CommonJS, the exports are the default export and their properties named
 * exports.
 */
function namespaceOf(specifier: unknown): object {
  const module = findModule(specifier);
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

/** Returns the namespace for a rewritten static import. Throws for names that the module does not export. */
export function importStatically(specifier: unknown, exportNames: Names): object {
  const namespace = namespaceOf(specifier);
  for (let i = 0; i < exportNames.length; i++) {
    const name = exportNames[i] as string;
    if (!(name in namespace))
      throw new SyntaxError('The module ' + stringify(specifier) + ' does not export ' + stringify(name));
  }
  return namespace;
}

/** Implements `import()`. */
export function importDynamically(specifier: unknown): Promise<object> {
  return new NativePromise<object>((resolve) => resolve(namespaceOf(specifier)));
}

/** The API for an image's bundle; removed before user code runs. */
const imageApi = {
  /** Adds a module. `eager` modules are loaded now and become part of the snapshot. */
  add(name: string, factory: () => unknown, eager: boolean): void {
    const module: Module = {
      load: factory,
      isLoaded: false,
      value: undefined,
      error: undefined,
      hasFailed: false,
      namespace: undefined,
    };
    set(modules, name, module);
    if (!eager) return;
    eagerModuleNames += (eagerModuleNames === '' ? '' : ', ') + name;
    try {
      load(module);
    } catch {
      // The error is kept for `require` and report().
    }
  },
  builtin: createStandIn,
  /** Reads the clock without recording this as a use of the host; for stand-ins of builtins. */
  now,
  /** Returns a digest (or with a key an HMAC) of a binary string, synchronously, unlike the web's crypto. */
  hash: (algorithm: string, key: string | null, data: string): unknown =>
    send('H' + algorithm + ':' + (key === null ? '-' : '+' + key.length) + ':' + (key ?? '') + data),
  random: (bytes: number): unknown => send('R' + bytes),
  /** Returns a report for the builder, as JSON: the modules that failed to load, and whether the host was used. */
  report(): string {
    const failed: unknown[] = [];
    forEach(modules, (module, name) => {
      if (!module.hasFailed) return;
      const error = module.error as { name?: unknown; message?: unknown; stack?: unknown } | null;
      append(failed, {
        __proto__: null,
        module: name,
        builtin: missingModuleKindOf(error) === 'builtin',
        message: toText(error?.message ?? error),
        stack: toText(error?.stack ?? ''),
      });
    });
    return stringify({ __proto__: null, failed, usedHost: wasHostUsedBeforeConnect() });
  },
};

let imageGlobal: { close(): void } | undefined;

/** Defines the API for the bundle of an image. */
export function defineModules(): void {
  imageGlobal = defineTemporaryGlobal('__heddleImage', freeze(imageApi));
}

/** Removes the API for bundles, and defines `require` for user code if there is an image. */
export function sealModules(): void {
  imageGlobal?.close();
  if (eagerModuleNames !== '') define(globalThis, 'require', require);
}

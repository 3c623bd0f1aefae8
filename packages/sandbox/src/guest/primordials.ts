/** Built-ins captured before user code runs, so that the guest runtime does not depend on what users replace later. */
export const { apply, construct, ownKeys } = Reflect;
export const { stringify, parse } = JSON;
export const { defineProperty, freeze } = Object;
export const toText = String;
export const NativeError = Error;
export const NativeFunction = Function;
export const NativePromise = Promise;
export const NativeMap = Map;
export const NativeWeakMap = WeakMap;
export const NativeSet = Set;
export const NativeUint8Array = Uint8Array;
export const now = Date.now;

const { get: mapGet, set: mapSet, delete: mapDelete } = Map.prototype;
const setHas = Set.prototype.has;
const { get: weakGet, set: weakSet } = WeakMap.prototype;
const {
  slice: textSlice,
  lastIndexOf: textLastIndexOf,
  charCodeAt,
  startsWith: textStartsWith,
} = String.prototype;
const mapForEach = Map.prototype.forEach;
// Not `test`, which looks up `exec` on the pattern.
const regExpExec = RegExp.prototype.exec;

export const AsyncFunction = (async () => {}).constructor as new (
  ...parts: string[]
) => (...values: unknown[]) => Promise<unknown>;

export const get = <K, V>(map: Map<K, V>, key: K): V | undefined =>
  apply(mapGet, map, [key]) as V | undefined;
export const set = <K, V>(map: Map<K, V>, key: K, value: V): void => void apply(mapSet, map, [key, value]);
export const has = <T>(values: Set<T>, value: T): boolean => apply(setHas, values, [value]) as boolean;
export const getWeak = <K extends WeakKey, V>(map: WeakMap<K, V>, key: K): V | undefined =>
  apply(weakGet, map, [key]) as V | undefined;
export const setWeak = <K extends WeakKey, V>(map: WeakMap<K, V>, key: K, value: V): void =>
  void apply(weakSet, map, [key, value]);
export const remove = <K, V>(map: Map<K, V>, key: K): boolean => apply(mapDelete, map, [key]) as boolean;
export const forEach = <K, V>(map: Map<K, V>, visit: (value: V, key: K) => void): void =>
  void apply(mapForEach, map, [visit]);
export const slice = (text: string, from: number, to?: number): string => apply(textSlice, text, [from, to]);
export const lastIndexOf = (text: string, searchText: string, from: number): number =>
  apply(textLastIndexOf, text, [searchText, from]);
export const startsWith = (text: string, start: string): boolean =>
  apply(textStartsWith, text, [start]) as boolean;
export const codeAt = (text: string, index: number): number => apply(charCodeAt, text, [index]);
export const test = (pattern: RegExp, text: string): boolean => apply(regExpExec, pattern, [text]) !== null;

/** Returns whether the value is an Error of this realm. */
export const isError = (value: unknown): value is Error => value instanceof NativeError;

/** Defines a property like those of built-ins: writable, and not enumerable. */
export function define(target: object, name: string, value: unknown): void {
  defineProperty(target, name, {
    __proto__: null,
    value,
    writable: true,
    configurable: true,
    enumerable: false,
  } as PropertyDescriptor);
}

/** Appends to an array without using setters that users may have put on a prototype. */
export const append = <T>(list: T[], value: T): void =>
  void defineProperty(list, list.length, {
    __proto__: null,
    value,
    writable: true,
    configurable: true,
    enumerable: true,
  } as PropertyDescriptor);

/** Defines a global that can be removed but not replaced, because packages of an image run before it is used. */
export function defineTemporaryGlobal(name: string, value: unknown): { close(): void } {
  let currentValue: unknown = value;
  defineProperty(globalThis, name, {
    __proto__: null,
    get: () => currentValue,
    configurable: false,
    enumerable: false,
  } as PropertyDescriptor);
  return { close: () => void (currentValue = undefined) };
}

/** Sets a promise's own constructor, so that `await` uses it directly even if users changed Promise.prototype. */
export function pinConstructor<T>(promise: Promise<T>): Promise<T> {
  return defineProperty(promise, 'constructor', {
    __proto__: null,
    value: NativePromise,
  } as PropertyDescriptor);
}

/** Returns the result of `make`, or `fallback` if user code that it calls throws. */
export function attempt<T>(make: () => T, fallback: T): T {
  try {
    return make();
  } catch {
    return fallback;
  }
}

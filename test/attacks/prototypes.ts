import { EventEmitter } from 'node:events';

/** Shared objects of this process. A change to one of them affects the host. */
const SHARED_OBJECTS: readonly object[] = [
  Object,
  Function,
  Array,
  String,
  Number,
  Boolean,
  Symbol,
  BigInt,
  Date,
  RegExp,
  Promise,
  Map,
  Set,
  WeakMap,
  WeakSet,
  WeakRef,
  FinalizationRegistry,
  Error,
  AggregateError,
  EvalError,
  TypeError,
  RangeError,
  ReferenceError,
  SyntaxError,
  URIError,
  ArrayBuffer,
  SharedArrayBuffer,
  Uint8Array,
  DataView,
  Buffer,
  URL,
  URLSearchParams,
  EventTarget,
  EventEmitter,
  AbortSignal,
  Headers,
  Response,
  TextDecoder,
]
  .flatMap((type) => [type, type.prototype as object])
  .concat([globalThis, JSON, Math, Reflect, Intl, Atomics, WebAssembly, console, crypto])
  .concat(
    [
      Uint8Array.prototype,
      [].values(),
      new Map().values(),
      ''.matchAll(/x/g),
      function* () {},
      async () => {},
    ].map((value) => Object.getPrototypeOf(value) as object),
    Object.getPrototypeOf(async function* () {}.prototype) as object,
    Object.getPrototypeOf(Object.getPrototypeOf([].values())) as object,
  );

type Snapshot = ReadonlyMap<object, ReadonlyMap<PropertyKey, PropertyDescriptor>>;

function takeSnapshot(): Snapshot {
  return new Map(
    SHARED_OBJECTS.map((object) => [
      object,
      new Map(Reflect.ownKeys(object).map((key) => [key, Reflect.getOwnPropertyDescriptor(object, key)!])),
    ]),
  );
}

const isSameProperty = (a: PropertyDescriptor | undefined, b: PropertyDescriptor): boolean =>
  a !== undefined && Object.is(a.value, b.value) && a.get === b.get && a.set === b.set;

/** Records the properties of the shared objects. `findChanges` returns those added, removed or replaced since. */
export function watchPrototypes(): { findChanges(): string[] } {
  const baseline = takeSnapshot();
  return {
    findChanges: () =>
      [...takeSnapshot()].flatMap(([object, properties]) => {
        const baselineProperties = baseline.get(object)!;
        const name = `${Object.prototype.toString.call(object)} ${(object as { name?: string }).name ?? ''}`;
        // The test runner adds and removes globals.
        const comparedProperties =
          object === globalThis ? new Map<PropertyKey, PropertyDescriptor>() : properties;
        const changedProperties = [...comparedProperties].filter(
          ([key, property]) => !isSameProperty(baselineProperties.get(key), property),
        );
        const removedKeys = [...baselineProperties.keys()].filter((key) => !properties.has(key));
        return [
          ...changedProperties.map(([key]) => `${name}: ${String(key)}`),
          ...removedKeys.map((key) => `${name}: no ${String(key)}`),
        ];
      }),
  };
}

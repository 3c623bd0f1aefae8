import { hostCall } from '../calls.ts';
import { send } from '../channel.ts';
import { apply, codeAt, define, defineProperty, NativeUint8Array, toText } from '../primordials.ts';

/**
 * What lazy modules import from the modules that they do not get copies of, since those have state or had to run before
 * user code. Only what they use: every fresh context has all of it.
 */
const shared = {
  calls: { hostCall },
  channel: { send },
  primordials: { apply, codeAt, NativeUint8Array, toText },
};

/**
 * Defines globals that are made at their first use: a fresh context costs what its objects cost,
 * and few blocks use more than a few of these. The code itself is in the snapshot.
 */
export function lazy(
  names: readonly string[],
  load: (modules: object) => Readonly<Record<string, unknown>>,
): void {
  const settle = (): void => {
    // Libraries look for a native one first; they must not find the getter.
    for (const name of names) delete (globalThis as Record<string, unknown>)[name];
    const made = load(shared);
    for (const name of names) define(globalThis, name, made[name]);
  };
  for (const name of names) {
    defineProperty(globalThis, name, {
      __proto__: null,
      configurable: true,
      enumerable: false,
      get() {
        settle();
        return (globalThis as Record<string, unknown>)[name];
      },
      set(value: unknown) {
        define(globalThis, name, value);
      },
    } as PropertyDescriptor);
  }
}

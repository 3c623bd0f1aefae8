/**
 * Returns a proxy of `target` in which `methods` replace the methods with the same names. All other methods are called
 * on `target` itself, because they use private members.
 */
export function overrideMethods<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      const owner: object = name in methods ? methods : target;
      const value: unknown = Reflect.get(owner, name);
      return typeof value === 'function' ? (value.bind(owner) as unknown) : value;
    },
  });
}

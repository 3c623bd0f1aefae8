/** A multimap: lists of values by key. */
export type Multimap<T> = Map<string, T[]>;

/** Appends to the list of `key`, which it creates if needed. */
export function append<T>(lists: Multimap<T>, key: string, value: T): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

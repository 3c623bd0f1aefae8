/** Lists by key. */
export type Lists<T> = Map<string, T[]>;

/** Appends to the list under `key`, which it makes when there is none. */
export function append<T>(lists: Lists<T>, key: string, value: T): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

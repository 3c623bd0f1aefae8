/** Returns a copy of the object without its undefined properties. */
export function withoutUndefined<T extends object>(
  values: T,
): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}

/** A module that bundle.mjs turns into one function: its code runs, and its objects exist, only where it is called. */
declare module 'lazy:*' {
  const load: (shared: object) => Readonly<Record<string, unknown>>;
  export default load;
}

/** The same for a module that few contexts use: a guest without packages gets its code from the process on demand. */
declare module 'onDemand:*' {
  const load: (shared: object) => Readonly<Record<string, unknown>>;
  export default load;
}

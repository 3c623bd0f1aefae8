/**
 * A module that guest-bundle.mjs compiles to one function. Its code runs, and its objects exist, only in contexts that
 * call the function.
 */
declare module 'lazy:*' {
  const load: (shared: object) => Readonly<Record<string, unknown>>;
  export default load;
}

/**
 * Like `lazy:`, for modules that few contexts use: a guest without packages loads the code from its process on demand.
 */
declare module 'onDemand:*' {
  const load: (shared: object) => Readonly<Record<string, unknown>>;
  export default load;
}

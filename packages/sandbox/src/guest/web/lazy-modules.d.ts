/**
 * A module that guest-bundle.mjs compiles to one function. Its code runs, and its objects exist, only in contexts that
 * call the function.
 *
 * The module is always a file of ours, even if it only re-exports packages (base64.ts, buffer.ts, clone.ts, url.ts): the
 * exports have the names of the globals, and globals that share code, such as `URL` and `URLSearchParams`, are one
 * function. Neither could be expressed by the name of a package.
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

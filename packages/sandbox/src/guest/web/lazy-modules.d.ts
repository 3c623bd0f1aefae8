/** A module that bundle.mjs turns into one function: its code runs, and its objects exist, only where it is called. */
declare module 'lazy:*' {
  const load: (shared: object) => Readonly<Record<string, unknown>>;
  export default load;
}

/** The same of one that few contexts use: in a guest without packages the code is not there before. */
declare module 'seldom:*' {
  const load: (shared: object) => Readonly<Record<string, unknown>>;
  export default load;
}

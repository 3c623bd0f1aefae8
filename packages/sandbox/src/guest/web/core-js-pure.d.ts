declare module 'core-js-pure/*' {
  const value: unknown;
  export default value;
}

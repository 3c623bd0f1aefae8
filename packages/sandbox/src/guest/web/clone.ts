import structuredClone from 'core-js-pure/actual/structured-clone.js';

export { structuredClone };

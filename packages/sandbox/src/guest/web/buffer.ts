// Spelled with a slash: without one the name is Node's own module.
export { Buffer } from 'buffer/index.js';

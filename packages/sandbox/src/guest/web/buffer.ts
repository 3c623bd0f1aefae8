// The path includes a file, because the bare name is Node.js's own module.
export { Buffer } from 'buffer/index.js';

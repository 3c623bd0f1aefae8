import { afterAll } from 'vitest';
import { processorMs } from './processor-time.ts';

// Vitest runs this before it imports a file of tests, so the time of the imports is in it.
const before = processorMs();

afterAll(({}, { file }) => {
  const now = processorMs();
  if (before !== undefined && now !== undefined) file.meta.processorMs = now - before;
});

import { afterAll } from 'vitest';
import { processorMs } from './processor-time.ts';

// Vitest runs this before it imports a test file, so the measured time includes the imports.
const before = processorMs();

afterAll(({}, { file }) => {
  const now = processorMs();
  if (before !== undefined && now !== undefined) file.meta.processorMs = now - before;
});

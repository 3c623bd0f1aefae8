import { afterAll } from 'vitest';
import { processorMs } from './processor-time.ts';

// Vitest runs this before it imports a test file, so the measured time includes the imports.
const startMs = processorMs();

afterAll(({}, { file }) => {
  const endMs = processorMs();
  if (startMs !== undefined && endMs !== undefined) file.meta.processorMs = endMs - startMs;
});

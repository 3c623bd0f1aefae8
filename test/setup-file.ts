import { afterAll } from 'vitest';
import { readProcessorMs } from './processor-time.ts';

// Vitest runs this before it imports a test file, so the measured time includes the imports.
const startMs = readProcessorMs();

afterAll(({}, { file }) => {
  const endMs = readProcessorMs();
  if (startMs !== undefined && endMs !== undefined) file.meta.processorMs = endMs - startMs;
});

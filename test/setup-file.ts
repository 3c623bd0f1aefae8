import { afterAll } from 'vitest';
import { readCpuMs } from './cpu-time.ts';

// Vitest runs this before it imports a test file, so the measured time includes the imports.
const startMs = readCpuMs();

afterAll(({}, { file }) => {
  const endMs = readCpuMs();
  if (startMs !== undefined && endMs !== undefined) file.meta.cpuMs = endMs - startMs;
});

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('..', import.meta.url));

export default defineConfig({
  root,
  cacheDir: 'node_modules/.cache/vite',
  resolve: { conditions: ['@heddle/source'] },
  ssr: { resolve: { conditions: ['@heddle/source'], externalConditions: ['@heddle/source'] } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'],
    passWithNoTests: false,
  },
});

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const conditions = ['@heddle/source'];

export default defineConfig(({ mode }) => ({
  root: fileURLToPath(new URL('..', import.meta.url)),
  cacheDir: 'node_modules/.cache/vite',
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    env: { HEDDLE_DOSE: process.env['HEDDLE_DOSE'] ?? (mode === 'full' ? 'full' : 'quick') },
    // .ci/run reads the numbers from this report, so every run writes it.
    reporters: ['default', ['json', { outputFile: 'node_modules/.cache/heddle-test/report.json' }]],
    restoreMocks: true,
    unstubEnvs: true,
    testTimeout: mode === 'full' ? 600_000 : 30_000,
    hookTimeout: 60_000,
  },
}));

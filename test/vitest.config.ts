import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';

const conditions = ['@heddle/source'];
const TEMPORAL = 'test/temporal/**/*.test.ts';
const FULL_TEMPORAL = 'test/temporal/full/**/*.test.ts';

export default defineConfig(({ mode }) => ({
  root: fileURLToPath(new URL('..', import.meta.url)),
  cacheDir: 'node_modules/.cache/vite',
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    env: { HEDDLE_SCALE: process.env['HEDDLE_SCALE'] ?? (mode === 'full' ? 'full' : 'quick') },
    // .ci/run reads the numbers from this report, so every run writes it.
    reporters: ['default', ['json', { outputFile: 'node_modules/.cache/heddle-test/report.json' }]],
    restoreMocks: true,
    unstubEnvs: true,
    testTimeout: mode === 'full' ? 600_000 : 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'heddle',
          include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...configDefaults.exclude, TEMPORAL],
          // Not 0, which Vitest puts last where it has one worker.
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Its setup finds or builds a server and starts it: only when one of these files is to be run.
        extends: true,
        test: {
          name: 'temporal',
          include: [TEMPORAL],
          exclude: [...configDefaults.exclude, FULL_TEMPORAL],
          globalSetup: 'test/temporal/setup.ts',
          testTimeout: mode === 'full' ? 600_000 : 60_000,
          // After the others: a server, workers and clients beside them would make both slow.
          sequence: { groupOrder: 2 },
        },
      },
      {
        // The same with the server as it is in production, on PostgreSQL.
        extends: true,
        test: {
          name: 'full temporal',
          include: [FULL_TEMPORAL],
          globalSetup: 'test/temporal/full/setup.ts',
          testTimeout: mode === 'full' ? 600_000 : 60_000,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
}));

import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import type { TestProjectInlineConfiguration } from 'vitest/config';
import { findServer } from '../packages/temporal/src/server/find.ts';
import { findSkippedFiles } from './sampled-files.ts';
import { hasToBuildS3 } from './integrations/s3-setup.ts';
import { ProgressReporter } from './progress.ts';
import { FolderReporter } from './reporter.ts';
import { LongestFirstSequencer } from './sequencer.ts';

const conditions = ['@heddle/source'];
const TEMPORAL_TESTS = 'test/temporal/**/*.test.ts';
const S3_TESTS = 'test/integrations/s3.test.ts';
const PRODUCTION_TESTS = 'test/temporal/production/**/*.test.ts';
/** Patterns of the tests that only `npm run test:full` runs, with the descriptions that the reporter prints. */
const FULL_ONLY_TESTS = {
  [PRODUCTION_TESTS]: 'on the production server of Temporal, which takes minutes to build',
  'test/temporal/chaos/**/*.test.ts': 'workers and servers of Temporal killed while runs are in flight',
};
/**
 * Tests that count operations (test/support/operations.ts). Each file has its own process. In a shared process, code
 * that an earlier file has compiled would not be counted, the timers of that file would be counted, and reading the
 * counters would take time in proportion to all loaded code.
 */
const COUNTING_TESTS = 'test/operations/**/*.test.ts';
/** The Temporal server that can start immediately. Its kind is "none" if a server must be built first. */
const temporalServer = await findServer({
  env: process.env,
  log: () => undefined,
  sources: ['TEMPORAL_ADDRESS', 'TEMPORAL_CLI', 'PATH', 'cache'],
});
const isTemporalReady = temporalServer.kind !== 'none';

/** Returns the projects that start last, because a server that they need is built while the other tests run. */
function listLateProjects(isFull: boolean): { name: string; pattern: string; globalSetup: string }[] {
  const temporalProject = {
    name: 'temporal',
    pattern: TEMPORAL_TESTS,
    globalSetup: 'test/temporal/setup.ts',
  };
  const s3Project = { name: 's3', pattern: S3_TESTS, globalSetup: 'test/integrations/s3-setup.ts' };
  return [...(isTemporalReady ? [] : [temporalProject]), ...(hasToBuildS3({ isFull }) ? [s3Project] : [])];
}

export default defineConfig(({ mode }) => {
  const isFull = mode === 'full' || process.env['HEDDLE_SCALE'] === 'full';
  const seed = process.env['HEDDLE_SAMPLE_SEED'] ?? String(Math.floor(Math.random() * 2 ** 31));
  // The arguments after `vitest run`.
  const args = process.argv.slice(3);
  const skippedFiles = isFull ? undefined : { ...FULL_ONLY_TESTS, ...findSkippedFiles(seed, args) };
  const excludedPatterns = [...configDefaults.exclude, ...Object.keys(skippedFiles ?? {})];
  const testTimeout = isFull ? 600_000 : 60_000;
  const lateProjects = listLateProjects(isFull);
  const root = fileURLToPath(new URL('..', import.meta.url));
  return {
    root,
    cacheDir: 'node_modules/.cache/vite',
    resolve: { conditions },
    ssr: { resolve: { conditions, externalConditions: conditions } },
    test: {
      env: {
        HEDDLE_SCALE: isFull ? 'full' : 'quick',
        HEDDLE_SAMPLE_SEED: seed,
        // Tests start hundreds of processes that load the same modules.
        NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/heddle-test/compiled'),
      },
      // .ci/run reads the numbers of passed, failed and skipped tests from the JSON report.
      reporters: [
        'default',
        ['json', { outputFile: 'node_modules/.cache/heddle-test/report.json' }],
        ...(isFull ? [new ProgressReporter()] : []),
        new FolderReporter(seed, skippedFiles),
      ],
      setupFiles: 'test/setup-file.ts',
      sequence: { sequencer: LongestFirstSequencer },
      // On a shared machine, a process can wait for seconds. The reporter names each test that needed the retry.
      retry: process.env['CI'] ? 1 : 0,
      // Files share processes and loaded modules: starting a process and loading the modules for each file would take
      // longer than most tests.
      isolate: false,
      restoreMocks: true,
      unstubEnvs: true,
      testTimeout,
      // The default of one second is too short on a busy machine. A poll ends as soon as its condition holds.
      expect: { poll: { timeout: 20_000 } },
      hookTimeout: 120_000,
      // Many tests mostly wait for processes, so more workers than cores keep the cores busy.
      maxWorkers: availableParallelism() + 2,
      projects: [
        {
          extends: true,
          test: {
            name: 'operations',
            include: [COUNTING_TESTS],
            exclude: excludedPatterns,
            isolate: true,
            sequence: { groupOrder: 1 },
          },
        },
        {
          extends: true,
          test: {
            // Files of one project share worker processes. A process ends if the next file belongs to another project,
            // so all files that need no server to be built first are in this project.
            name: 'heddle',
            include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'],
            exclude: [
              ...excludedPatterns,
              COUNTING_TESTS,
              PRODUCTION_TESTS,
              ...lateProjects.map(({ pattern }) => pattern),
            ],
            globalSetup: isTemporalReady ? 'test/temporal/setup.ts' : [],
            sequence: { groupOrder: 1 },
          },
        },
        ...lateProjects.map(({ name, pattern, globalSetup }): TestProjectInlineConfiguration => ({
          extends: true,
          test: {
            name,
            include: [pattern],
            exclude: [...excludedPatterns, PRODUCTION_TESTS],
            globalSetup,
            sequence: { groupOrder: 2 },
          },
        })),
        {
          extends: true,
          test: {
            name: 'temporal production',
            include: [PRODUCTION_TESTS],
            exclude: excludedPatterns,
            globalSetup: 'test/temporal/production/setup.ts',
            maxWorkers: 1,
            sequence: { groupOrder: 3 },
          },
        },
      ],
    },
  };
});

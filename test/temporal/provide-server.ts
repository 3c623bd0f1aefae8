import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

/**
 * The server that the test files of a Vitest project share, or the reason why there is none. test/temporal/setup.ts or
 * test/temporal/production/setup.ts starts it.
 */
export type TemporalForTests =
  | {
      readonly kind: 'serving';
      readonly address: string;
      readonly namespace: string;
      /**
       * Path of the Temporal CLI; undefined for a server that was already running (TEMPORAL_ADDRESS), and for the
       * production server.
       */
      readonly binary: string | undefined;
    }
  | {
      readonly kind: 'none';
      readonly reason: string;
      /** True if a missing server is a failure. */
      readonly isRequired: boolean;
    };

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the file with the project's `TemporalForTests`, which is written when its server has started. */
    temporal: string;
  }
}

/** Suffix of the file that a test writes to request the server. */
export const SERVER_REQUEST_SUFFIX = '.requested';
const POLL_MS = 100;

/** The result of opening a server for the tests of a project: the server, or the reason why there is none. */
export interface OpenServerResult {
  readonly server: TemporalForTests;
  stop(): Promise<void>;
}

/**
 * Provides a project with the path of a file that describes its server. The server is opened immediately if
 * `isImmediate`, else when a test requests it (`SERVER_REQUEST_SUFFIX`). Returns a function that stops the server.
 */
export function provideServer(
  project: TestProject,
  open: () => Promise<OpenServerResult>,
  isImmediate: boolean,
): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-temporal-tests-'));
  const file = join(folder, 'server.json');
  const start = async (): Promise<OpenServerResult> => {
    const result = await open().catch((error: unknown) =>
      reportMissingServer(error instanceof Error ? error.message : String(error)),
    );
    writeFileSync(`${file}.new`, JSON.stringify(result.server));
    renameSync(`${file}.new`, file);
    return result;
  };
  let resultPromise = isImmediate ? start() : undefined;
  const timer = setInterval(() => {
    if (existsSync(file + SERVER_REQUEST_SUFFIX)) resultPromise ??= start();
  }, POLL_MS);
  timer.unref();
  project.provide('temporal', file);
  return async () => {
    clearInterval(timer);
    await (await resultPromise)?.stop();
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Reports that there is no server. If one is required, each file of the project fails, but not the whole run. */
export function reportMissingServer(reason: string): OpenServerResult {
  const isRequired = process.env['HEDDLE_REQUIRE_TEMPORAL'] === '1';
  process.stderr.write(`Tests of the Temporal runtime ${isRequired ? 'fail' : 'are skipped'}: ${reason}\n`);
  return { server: { kind: 'none', reason, isRequired }, stop: async () => undefined };
}

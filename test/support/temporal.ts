import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, inject, it } from 'vitest';
import { SERVER_REQUEST_SUFFIX } from '../temporal/provide-server.ts';
import type { TemporalForTests } from '../temporal/provide-server.ts';
import { isFullRun } from './scale.ts';

const server = await waitForServer();

/** Waits for the server, which may have to be built the first time. */
async function waitForServer(): Promise<TemporalForTests | undefined> {
  const file = inject('temporal') as string | undefined;
  if (file === undefined) return undefined;
  writeFileSync(file + SERVER_REQUEST_SUFFIX, '');
  while (!existsSync(file)) await delay(100);
  return JSON.parse(readFileSync(file, 'utf8')) as TemporalForTests;
}

type ServingTemporal = Extract<TemporalForTests, { kind: 'serving' }>;

/**
 * Defines tests like `describe`. The tests share the development server of this run, or in test/temporal/production/
 * the production server. Without a server the tests are skipped; with HEDDLE_REQUIRE_TEMPORAL=1 they fail. All files
 * share the namespace, so each test uses its own workflow ids and task queues.
 */
export function describeTemporal(name: string, defineTests: (server: ServingTemporal) => void): void {
  if (!server) {
    throw new Error('Tests that need a Temporal server belong in test/temporal/: only files there get one.');
  }
  if (server.kind === 'none' && server.isRequired) {
    it(`on Temporal: ${name}: needs a server`, () => expect.fail(server.reason));
    return;
  }
  // Skipped tests are still collected, so they get a server that is never called.
  const serverForTests = server.kind === 'serving' ? server : UNUSED_SERVER;
  describe.skipIf(server.kind === 'none')(`on Temporal: ${name}`, { timeout: TIMEOUT_MS }, () => {
    defineTests(serverForTests);
  });
}

const TIMEOUT_MS = isFullRun ? 600_000 : 90_000;

const UNUSED_SERVER: ServingTemporal = { kind: 'serving', address: '', namespace: '', binary: undefined };

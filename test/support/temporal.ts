import { describe, expect, inject, it } from 'vitest';

/** The server of a file's project, or why there is none: started by test/temporal/setup.ts or test/temporal/full/setup.ts. */
export type TemporalForTests =
  | {
      readonly kind: 'serving';
      readonly address: string;
      readonly namespace: string;
      /** Path of Temporal's command; undefined where the server was there before (TEMPORAL_ADDRESS), or is a full one. */
      readonly binary: string | undefined;
    }
  | {
      readonly kind: 'none';
      readonly reason: string;
      /** True where a missing server is a failure. */
      readonly isRequired: boolean;
    };

declare module 'vitest' {
  interface ProvidedContext {
    temporal: TemporalForTests;
  }
}

type Serving = Extract<TemporalForTests, { kind: 'serving' }>;

/**
 * A `describe` whose tests get the one development server of this run; below test/temporal/full/ the full one. Where there is none they are skipped, or fail, when
 * HEDDLE_REQUIRE_TEMPORAL=1. All files share the server and its namespace: workflow ids and task queues must be of the
 * test's own.
 */
export function describeTemporal(name: string, tests: (server: Serving) => void): void {
  const server = inject('temporal') as TemporalForTests | undefined;
  if (!server) {
    throw new Error(
      'Tests that need a Temporal server belong under test/temporal/: no other file is given one.',
    );
  }
  if (server.kind === 'none' && server.isRequired) {
    it(`on Temporal: ${name}: needs a server`, () => expect.fail(server.reason));
    return;
  }
  // Skipped tests are still collected, with a server that nobody asks anything.
  const given = server.kind === 'serving' ? server : NOBODY;
  describe.skipIf(server.kind === 'none')(`on Temporal: ${name}`, () => {
    tests(given);
  });
}

const NOBODY: Serving = { kind: 'serving', address: '', namespace: '', binary: undefined };

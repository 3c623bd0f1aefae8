import type { TemporalForTests } from '../support/temporal.ts';

/** What a setup gives to its tests, and how it ends. */
export interface Opened {
  readonly server: TemporalForTests;
  stop(): Promise<void>;
}

/** No server, after saying so: where one is required it is a failure of each file, not of the run with all its other tests. */
export function noServer(reason: string): Opened {
  const isRequired = process.env['HEDDLE_REQUIRE_TEMPORAL'] === '1';
  process.stderr.write(`Tests of the Temporal runtime ${isRequired ? 'fail' : 'are skipped'}: ${reason}\n`);
  return { server: { kind: 'none', reason, isRequired }, stop: async () => undefined };
}

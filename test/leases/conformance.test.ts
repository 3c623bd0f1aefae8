import { randomUUID } from 'node:crypto';
import { createEngine } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { beforeAll, describe, onTestFinished } from 'vitest';
import { describeChildren } from '../conformance/runtime/children.ts';
import { describeDeletion } from '../conformance/runtime/deletion.ts';
import { describeEnvironments } from '../conformance/runtime/environments.ts';
import { describeFiles } from '../conformance/runtime/files.ts';
import { describeMemories } from '../conformance/runtime/memories.ts';
import { describePauses } from '../conformance/runtime/pauses.ts';
import { describeRestart } from '../conformance/runtime/restart.ts';
import { describeStarts } from '../conformance/runtime/starts.ts';
import { describeCodeTools } from '../conformance/runtime/code-tools.ts';
import { describeWorkflowTools } from '../conformance/runtime/workflow-tools.ts';
import { describeRuntime } from '../conformance/runtime.ts';
import { isFullRun, sample } from '../support/scale.ts';
import type { RuntimeUnderTest, RegisterCleanup } from '../conformance/runtime/runtime-under-test.ts';
import { openLeasedStores } from '../../packages/engine/src/store/open-postgres.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';

let url = '';

/** Returns a runtime whose engines share a new schema. Each engine acts as a separate process. */
function createRuntime(registerCleanup: RegisterCleanup = onTestFinished): RuntimeUnderTest {
  const schema = randomUUID();
  const engines: Engine[] = [];
  registerCleanup(async () => {
    for (const engine of engines) await engine.close({ graceMs: 0 });
  });
  return {
    open: async (options = {}) => {
      const engine = await createEngine({ ...options, postgres: { url, schema, maxConnections: 3 } });
      engines.push(engine);
      return engine;
    },
    requestCancel: async (runId) => {
      const stores = await openLeasedStores({ url, schema });
      await stores.requests.add({ runId, kind: 'cancel', payload: {} });
      await stores.close();
    },
  };
}

const SUITES = [
  () => describePauses(createRuntime),
  () => describeChildren(createRuntime),
  () => describeWorkflowTools(createRuntime),
  () => describeCodeTools(createRuntime),
  () => describeEnvironments(createRuntime),
  () => describeFiles(createRuntime),
  () => describeDeletion(createRuntime),
  () => describeStarts(createRuntime),
  () => describeRestart(createRuntime, false),
];

describe.skipIf(!hasPostgres)('the local runtime on PostgreSQL', () => {
  beforeAll(async () => {
    url = await createPostgresDatabase();
  });

  describeMemories(createRuntime);
  // `SUITES` covers behaviour that depends on the stores. The other suites depend only on the state machine.
  if (isFullRun) describeRuntime('local, on PostgreSQL', createRuntime, { durable: true });
  else for (const describeSuite of sample(SUITES, 3, 'conformance suites on PostgreSQL')) describeSuite();
});

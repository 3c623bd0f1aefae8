import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { getRequestListener } from '@hono/node-server';
import { openSandboxes } from '@heddle/service';
import { afterAll, describe, expect, it } from 'vitest';
import { createFakeBuilder, openImages } from '../support/images.ts';
import { SERVED_OPERATIONS } from '../support/served-operations.ts';
import { openServiceStore, createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { isFullRun, reportSkipped, sample } from '../support/scale.ts';
import { resolveTool } from '../tools/fetch.ts';
import { createAcceptedCalls } from './accepted-calls.ts';

const tool = resolveTool('schemathesis');
/** Cache for the character tables and constants of Hypothesis. Without it each process builds them in three seconds. */
const HYPOTHESIS_CACHE = fileURLToPath(
  new URL('../../node_modules/.cache/heddle-test/hypothesis', import.meta.url),
);
const HOOKS_FILE = fileURLToPath(new URL('schemathesis.py', import.meta.url));

/**
 * The checks of each response. "Valid data is accepted" is not among them: a schema cannot express rules between
 * fields, or that the resource of a path exists.
 */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'unsupported_method',
  'allow_header_conformance',
  'ignored_auth',
];

/** The statuses of each operation's responses. */
type StatusesByOperation = Map<string, Set<number>>;

/** In the order of the number of parameters, so that `runs/preview` is not the run `preview`. */
const ROUTES = SERVED_OPERATIONS.toSorted((a, b) => countParameters(a) - countParameters(b)).map(
  ({ id, method, path }) => ({
    id,
    method,
    path: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }),
);

function countParameters({ path }: { path: string }): number {
  return path.split('{').length - 1;
}

function operationIdOf(request: Request): string | undefined {
  const { pathname } = new URL(request.url);
  return ROUTES.find(({ method, path }) => method === request.method && path.test(pathname))?.id;
}

/** The operations of a quick run: an eighth of all operations. */
const SAMPLE = sample(
  SERVED_OPERATIONS.map(({ id }) => id),
  Math.ceil(SERVED_OPERATIONS.length / 8),
  'operations that schemathesis calls',
);

/** Starts the API. Returns its URL and the statuses of its responses. */
async function startServer({ api }: TestApi): Promise<{ url: string; statusesById: StatusesByOperation }> {
  const statusesById: StatusesByOperation = new Map(SAMPLE.map((id) => [id, new Set()]));
  const handle = async (request: Request): Promise<Response> => {
    const response = await api.fetch(request);
    statusesById.get(operationIdOf(request) ?? '')?.add(response.status);
    return response;
  };
  const listener = getRequestListener(handle, { overrideGlobalObjects: false });
  // Generated URLs are longer than Node.js accepts by default, and it would respond with 431 itself.
  const maxHeaderSize = 1024 * 1024;
  const server = createServer({ maxHeaderSize }, (request, response) => void listener(request, response));
  afterAll(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, statusesById };
}

/** Runs schemathesis. Returns its output and its exit code, which is 1 when a check fails. */
function runSchemathesis(
  args: string[],
  cwd: string,
  env: object,
): Promise<{ code: number; output: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number; output: string }>();
  const options = { cwd, env: { ...tool?.env, ...env }, maxBuffer: 64 * 1024 * 1024 };
  execFile(tool?.path ?? '', args, options, (error, stdout, stderr) => {
    resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, output: stdout + stderr });
  });
  return promise;
}

if (!isFullRun) reportSkipped('the phase "coverage" of schemathesis, and most examples');

/** The operations of each test. At full scale, each tag has its own test, so that a test ends within its time limit. */
const TEST_CASES: readonly (readonly [string, readonly string[]])[] = isFullRun
  ? [...Map.groupBy(SERVED_OPERATIONS, ({ tag }) => tag)].map(
      ([tag, operations]) => [`of ${tag}`, operations.map(({ id }) => id)] as const,
    )
  : [['of some operations', SAMPLE]];

async function testOperations(operations: readonly string[]) {
  const store = await openServiceStore();
  const images = openImages({ javascript: createFakeBuilder(), python: createFakeBuilder() });
  const sandboxes = openSandboxes({ store, openImageStore: async () => images, onError: () => undefined });
  const api = await createTestApi({ store, sandboxes });
  const { url, statusesById } = await startServer(api);
  const calls = await createAcceptedCalls(api);
  const args = ['run', `${url}/openapi.json`, '-H', `X-API-Key: ${api.key}`, '--no-color'];
  const selectionArgs = operations.flatMap((id) => ['--include-operation-id', id]);
  // The phase "coverage" has a fixed number of calls for each operation, up to a thousand; these numbers limit the
  // other phases.
  const scaleArgs = isFullRun
    ? ['--max-examples', '40']
    : ['--max-examples', '8', '--phases', 'examples,fuzzing'];
  const seedArgs = ['--seed', '1', '--generation-database', 'none'];
  // The time to generate requests depends on the machine.
  const healthCheckArgs = ['--suppress-health-check', 'too_slow'];
  const checkArgs = ['--checks', CHECKS.join(','), '--continue-on-failure', '--request-timeout', '10'];
  const env = {
    SCHEMATHESIS_HOOKS: HOOKS_FILE,
    HYPOTHESIS_STORAGE_DIRECTORY: HYPOTHESIS_CACHE,
    HEDDLE_TEST_WORKSPACE: api.workspaceId,
    HEDDLE_TEST_CALLS: JSON.stringify(calls),
  };
  const { code, output } = await runSchemathesis(
    [...args, ...selectionArgs, ...scaleArgs, ...seedArgs, ...healthCheckArgs, ...checkArgs],
    createDataFolder(),
    env,
  );
  return { code, output, statusesById, reportedErrors: api.reportedErrors };
}

describe.skipIf(!tool)('calls that are generated from /openapi.json', () => {
  it.each(TEST_CASES)(
    '%s get responses that match the document, and no internal errors',
    { timeout: isFullRun ? 1_800_000 : 300_000 },
    async (_name, operations) => {
      const { code, output, statusesById, reportedErrors } = await testOperations(operations);
      expect(Number(/ {2}Tested: (\d+)/.exec(output)?.[1])).toBe(operations.length);
      expect({
        code,
        output: code === 0 ? '' : output.slice(output.search(/== (FAILURES|ERRORS|WARNINGS)/)),
      }).toEqual({
        code: 0,
        output: '',
      });
      expect(reportedErrors).toEqual([]);
      // Each operation got valid and invalid requests.
      const statuses = operations.map((id) => [id, [...(statusesById.get(id) ?? [])]] as const);
      const neverAccepted = statuses.filter(([, codes]) => !codes.some((status) => status < 300));
      const neverRefused = statuses.filter(([, codes]) => !codes.some((status) => status >= 400));
      expect({ neverAccepted, neverRefused }).toEqual({ neverAccepted: [], neverRefused: [] });
    },
  );
});

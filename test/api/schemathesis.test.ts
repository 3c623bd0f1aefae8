import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getRequestListener } from '@hono/node-server';
import type { Json } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import { afterAll, describe, expect, it } from 'vitest';
import { testApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { ECHO, FILE } from '../support/api-files.ts';
import { APPROVAL, GREETING } from '../support/api-workflows.ts';
import type { ShownRun } from '../support/api-workflows.ts';
import { dataFolder } from '../support/data-folder.ts';
import { requireTool } from '../tools/fetch.ts';

const tool = requireTool('schemathesis');
const full = process.env['HEDDLE_DOSE'] === 'full';
const HOOKS = fileURLToPath(new URL('schemathesis.py', import.meta.url));

/**
 * What is asked of each answer. That valid data is accepted is not: rules between fields, and that what a path names
 * is there, no schema can say.
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

/** The address of the API, and the statuses that it has answered with. */
async function listening({ api }: TestApi): Promise<{ url: string; statuses: Map<number, number> }> {
  const statuses = new Map<number, number>();
  const counted = async (request: Request): Promise<Response> => {
    const response = await api.fetch(request);
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    return response;
  };
  const listener = getRequestListener(counted, { overrideGlobalObjects: false });
  const server = createServer((request, response) => void listener(request, response));
  afterAll(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, statuses };
}

/** Ids that half of the calls are about: workflows that end, wait and have files, and a run of each. */
async function somethingThere(api: TestApi): Promise<string> {
  const workflows = [await api.deployed(GREETING), await api.deployed(APPROVAL), await api.deployed(ECHO)];
  const body = { input: { doc: FILE } };
  const runs = await Promise.all(
    workflows.map((id) =>
      api.call<ShownRun & { output: Json }>('POST', `/api/v2/workflows/${id}/execute`, { body }),
    ),
  );
  return [
    '[parameters]',
    `"path.workflowId" = ${JSON.stringify(workflows)}`,
    `"path.runId" = ${JSON.stringify(runs.map(({ data }) => data.runId))}`,
    `"path.fileId" = ${JSON.stringify(runs.flatMap(({ data }) => filesIn(data.output).map(({ id }) => id)))}`,
    `"query.workspaceId" = ${JSON.stringify(api.workspaceId)}`,
  ].join('\n');
}

/** What it says, and its exit code: 1 where a check fails. */
function schemathesis(args: string[], cwd: string, env: object): Promise<{ code: number; said: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number; said: string }>();
  const options = { cwd, env: { ...tool?.env, ...env }, maxBuffer: 64 * 1024 * 1024 };
  execFile(tool?.path ?? '', args, options, (error, stdout, stderr) => {
    resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, said: stdout + stderr });
  });
  return promise;
}

describe.skipIf(!tool)('calls that are made up from /openapi.json', { timeout: 300_000 }, () => {
  it('are answered as it says, and never with a fault', async () => {
    const api = await testApi();
    const { url, statuses } = await listening(api);
    const cwd = dataFolder();
    writeFileSync(join(cwd, 'schemathesis.toml'), await somethingThere(api));
    const args = ['run', `${url}/openapi.json`, '-H', `X-API-Key: ${api.key}`, '--no-color'];
    const dose = full
      ? ['--max-examples', '200']
      : ['--max-examples', '5', '--seed', '1', '--phases', 'examples,coverage,fuzzing'];
    const options = ['--checks', CHECKS.join(','), '--continue-on-failure', '--request-timeout', '10'];
    const env = { SCHEMATHESIS_HOOKS: HOOKS, HEDDLE_TEST_WORKSPACE: api.workspaceId };
    const { code, said } = await schemathesis([...args, ...dose, ...options], cwd, env);
    expect(said).toMatch(/ {2}Tested: (1[7-9]|[2-9]\d)/);
    expect({ code, said: code === 0 ? '' : said.slice(said.indexOf('== FAILURES')) }).toEqual({
      code: 0,
      said: '',
    });
    expect(api.faults).toEqual([]);
    // It has found more than closed doors.
    expect(statuses.get(200)).toBeGreaterThan(20);
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([201, 400, 401, 404, 405]));
  });
});

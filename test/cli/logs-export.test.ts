import { createServer } from 'node:http';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, startHeddleServe } from '../support/heddle.ts';
import { code, start, workflowFile } from '../support/workflow-file.ts';

const ENTRY = {
  kind: 'workflow',
  runId: 'r1',
  workflowId: 'w',
  deploymentVersionId: 'w:2',
  status: 'completed',
  level: 'info',
  trigger: 'api',
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:00:01.000Z',
  totalDurationMs: 1000,
  cost: { total: 0.5 },
  files: null,
  workflow: { id: 'w', name: '=HYPERLINK("http://evil")', description: null, deleted: false },
};

/** Starts a server with these pages of the log. `queries` gets the query of each request. */
async function startLogServer(pages: object[] = [ENTRY, { ...ENTRY, runId: 'r,2', cost: null }]) {
  const queries: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://server');
    queries.push(searchParams);
    response.setHeader('Content-Type', 'application/json');
    if (searchParams.get('status') === 'unknown') {
      response.statusCode = 400;
      response.end(
        JSON.stringify({ error: { code: 'BAD_REQUEST', message: 'status must be one of the known values' } }),
      );
      return;
    }
    const page = Number(searchParams.get('cursor') ?? 0);
    const nextCursor = page + 1 < pages.length ? String(page + 1) : null;
    response.end(JSON.stringify({ data: pages.slice(page, page + 1), nextCursor }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const cwd = createDataFolder();
  const { port } = server.address() as AddressInfo;
  const env = {
    HEDDLE_URL: `http://127.0.0.1:${port}`,
    HEDDLE_WORKSPACE: 'looms',
    HEDDLE_API_KEY: 'key',
  };
  const exportLogs = (...args: string[]) => runHeddle(['logs', 'export', ...args], { cwd, env });
  return { queries, cwd, exportLogs };
}

describe('heddle logs export', { timeout: 60_000 }, () => {
  it('writes all pages as CSV, without cells that a spreadsheet would execute as formulas', async () => {
    const { exportLogs, queries } = await startLogServer();
    const { exitCode, stdout, stderr } = await exportLogs();
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '2 runs exported.\n' });
    expect(stdout.split('\n')).toEqual([
      'runId,workflowId,workflowName,deploymentVersionId,status,level,trigger,startedAt,endedAt,totalDurationMs,costUsd',
      `r1,w,"'=HYPERLINK(""http://evil"")",w:2,completed,info,api,2026-01-01T00:00:00.000Z,2026-01-01T00:00:01.000Z,1000,0.5`,
      `"r,2",w,"'=HYPERLINK(""http://evil"")",w:2,completed,info,api,2026-01-01T00:00:00.000Z,2026-01-01T00:00:01.000Z,1000,`,
      '',
    ]);
    expect(queries.map((query) => query.get('cursor'))).toEqual([null, '1']);
  });

  it('writes the runs of the API as NDJSON to a file that only the user can read', async () => {
    const { exportLogs, cwd, queries } = await startLogServer();
    const file = join(cwd, 'log.ndjson');
    const { exitCode, stdout } = await exportLogs(
      '--format',
      'ndjson',
      '--output',
      file,
      '--spans',
      '--outputs',
    );
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' });
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      ENTRY,
      { ...ENTRY, runId: 'r,2', cost: null },
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(Object.fromEntries(queries[0] ?? [])).toMatchObject({
      includeTraceSpans: 'true',
      includeFinalOutput: 'true',
    });
  });

  it('sends the filters of all options', async () => {
    const { exportLogs, queries } = await startLogServer();
    const filters = {
      workflow: ['workflowIds', 'a,b'],
      folder: ['folderPaths', '/north'],
      trigger: ['triggers', 'api'],
      level: ['level', 'error'],
      status: ['status', 'failed'],
      name: ['workflowName', 'Spin & co'],
      from: ['startDate', '2026-01-01T00:00:00Z'],
      to: ['endDate', '2026-02-01T00:00:00Z'],
      run: ['runId', 'r'],
      'min-duration': ['minDurationMs', '1'],
      'max-duration': ['maxDurationMs', '2'],
      'min-cost': ['minCost', '0.1'],
      'max-cost': ['maxCost', '0.2'],
      model: ['model', 'm'],
      'sort-by': ['sortBy', 'cost'],
      'sort-order': ['sortOrder', 'asc'],
    };
    const options = Object.entries(filters).flatMap(([name, [, value = '']]) => [`--${name}`, value]);
    expect(await exportLogs(...options)).toMatchObject({ exitCode: 0 });
    expect(Object.fromEntries(queries[0] ?? [])).toMatchObject(Object.fromEntries(Object.values(filters)));
  });

  it('writes only the header if there are no runs, and no file if the server refuses', async () => {
    const { exportLogs, cwd } = await startLogServer([]);
    expect((await exportLogs()).stdout).toMatch(/^runId,[^\n]*\n$/);
    const file = join(cwd, 'log.csv');
    const result = await exportLogs('--status', 'unknown', '--output', file);
    expect(result).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('status must be one of the known values'),
    });
    expect(existsSync(file)).toBe(false);
    expect(await exportLogs('--spans')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('ndjson'),
    });
  });

  it('exports the runs of heddle serve', async () => {
    const cwd = createDataFolder();
    const greetWorkflow = workflowFile({ blocks: { s: start(), a: code('return 1') }, edges: ['s > a'] });
    writeFileSync(join(cwd, 'greet.json'), JSON.stringify(greetWorkflow));
    const limitArgs = ['--keep-runs', '30', '--keep-runs-mib', '100'];
    const { url, workspaceId, key } = await startHeddleServe(['--grace', '1', ...limitArgs], { cwd });
    const env = { HEDDLE_URL: url, HEDDLE_WORKSPACE: workspaceId, HEDDLE_API_KEY: key };
    const run = (...args: string[]) => runHeddle(args, { cwd, env });
    expect(await run('deploy', 'greet.json')).toMatchObject({ exitCode: 0 });
    for (let runs = 0; runs < 2; runs += 1)
      expect(await run('execute', 'greet')).toMatchObject({ exitCode: 0 });
    const { stdout } = await run('logs', 'export', '--status', 'completed');
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^runId,/),
      expect.stringMatching(/,greet,[\w-]+:1,completed,info,api,/),
      expect.stringMatching(/,greet,[\w-]+:1,completed,info,api,/),
    ]);
    expect((await run('logs', 'export', '--level', 'error')).stdout.trim().split('\n')).toHaveLength(1);
  });
});

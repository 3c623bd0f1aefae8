import { describe, expect, it } from 'vitest';
import { createTestApi } from '../../../../../test/support/api.ts';
import { deployGreeting } from '../../../../../test/support/api-workflows.ts';
import type { RunResponse } from '../../../../../test/support/api-workflows.ts';

const api = await createTestApi();
const { call } = api;

describe('runs of a workflow', () => {
  it('are listed by time, status and trigger, in pages', async () => {
    const path = await deployGreeting(api);
    const ids: string[] = [];
    for (const executeBody of [{}, { run: { source: 'manual' } }, {}, { run: { source: 'manual' } }, {}]) {
      ids.push((await call<RunResponse>('POST', `${path}/execute`, { body: executeBody })).data.runId);
    }
    const listPages = async (query: string): Promise<string[][]> => {
      const pages: string[][] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const cursorParameter: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const response = await call<RunResponse[]>('GET', `${path}/runs?${query}${cursorParameter}`);
        expect(response.status).toBe(200);
        pages.push(response.data.map(({ runId }) => runId));
        cursor = (response.body as { nextCursor: string | null }).nextCursor;
      }
      return pages;
    };
    const sortIds = (pages: string[][]) => pages.flat().toSorted();
    expect(sortIds(await listPages('limit=2'))).toEqual(ids.toSorted());
    expect((await listPages('limit=2')).flat()).toEqual(
      (await listPages('limit=3&order=asc')).flat().toReversed(),
    );
    expect(sortIds(await listPages('trigger=manual&limit=1'))).toEqual(
      ids.filter((_, index) => index % 2 === 1).toSorted(),
    );
    expect(sortIds(await listPages('status=completed'))).toEqual(ids.toSorted());
    expect(await listPages('status=failed')).toEqual([[]]);
    expect(await listPages('status=pending')).toEqual([[]]);
    expect(await listPages('startDate=2999-01-01T00:00:00Z')).toEqual([[]]);
    expect(sortIds(await listPages('endDate=2999-01-01T00:00:00Z'))).toEqual(ids.toSorted());
  });

  it.each([
    'status=queued',
    'sortBy=startedAt',
    'limit=0',
    'limit=101',
    'order=up',
    'startDate=yesterday',
    'startDate=2026-02-01T00:00:00Z&endDate=2026-01-01T00:00:00Z',
  ])('cannot be listed by %s', async (query) => {
    const path = await deployGreeting(api);
    expect(await call('GET', `${path}/runs?${query}`)).toMatchObject({ status: 400 });
  });

  it('show outputs selected by name or id, repeated or separated by commas', async () => {
    const path = await deployGreeting(api);
    const { data } = await call<RunResponse>('POST', `${path}/execute`, { body: { input: { name: 'Ada' } } });
    const runPath = `${path}/runs/${data.runId}`;
    const expected = { data: { blockOutputs: { 'Start.name': 'Ada', 'Reply.data': { hello: 'Ada' } } } };
    expect(await call('GET', `${runPath}?selectedOutputs=Start.name,Reply.data`)).toMatchObject(expected);
    const repeatedPath = `${runPath}?selectedOutputs=Start.name&selectedOutputs=Reply.data`;
    expect(await call('GET', repeatedPath)).toMatchObject(expected);
    expect(await call('GET', `${runPath}?selectedOutputs=Ghost.x`)).toMatchObject({ status: 400 });
    expect(await call('GET', runPath)).toMatchObject({ data: { blockOutputs: null, output: null } });
  });

  it('are not found under the path of another workflow', async () => {
    const path = await deployGreeting(api);
    const otherPath = await deployGreeting(api);
    const { data } = await call<RunResponse>('POST', `${path}/execute`, { body: {} });
    for (const [method, suffix] of [
      ['GET', ''],
      ['POST', '/cancel'],
    ] as const) {
      expect(await call(method, `${otherPath}/runs/${data.runId}${suffix}`)).toMatchObject({
        status: 404,
        body: { error: { message: 'Run not found' } },
      });
    }
    const body = { contextId: 'x' };
    expect(await call('POST', `${otherPath}/runs/${data.runId}/resume`, { body })).toMatchObject({
      status: 404,
    });
  });
});

import { describe, expect, it } from 'vitest';
import { createEngine } from '@heddle/engine';
import { openServiceStore } from '@heddle/service';
import { errorIn, tenantOptionsOf, createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { block, fn, loop, workflow } from '../support/workflow.ts';
import type { RunResponse } from '../support/api-workflows.ts';

const NESTED_WORKFLOW = workflow(
  [
    loop(
      'Outer',
      { loopType: 'for', count: 3 },
      loop(
        'Inner',
        { loopType: 'for', count: 2 },
        fn(
          'Odd',
          'if (<outer.index> === 1 && <inner.index> === 1) throw new Error("odd"); return <inner.index>',
        ),
        fn('Handler', 'return "handled"'),
      ),
    ),
    fn('After', 'return { list: [1, { "a/b": "x" }], text: "<b>bold</b>" }'),
  ],
  ['Start -> Outer -> After', 'Outer -> Inner', 'Inner -> Odd', 'Odd:error -> Handler'],
);
const PAUSING_WORKFLOW = workflow([block('Ask', 'human_in_the_loop')], ['Start -> Ask']);

interface Span {
  id: string;
  parentId: string;
  depth: number;
  status: string;
  index: number | null;
  blockId: string | null;
  childCount: number;
}
interface BlockState {
  blockId: string;
  total: number;
  failed: number;
  completed: number;
  spanId: string;
  iterations: { total: number; completed: number } | null;
}

async function setUp(): Promise<TestApi> {
  const store = await openServiceStore();
  const engine = await createEngine(tenantOptionsOf(store));
  return createTestApi({ engine, store, repeat: () => () => undefined });
}

async function execute(api: TestApi, definition: Parameters<TestApi['deploy']>[0]) {
  const workflowId = await api.deploy(definition);
  const path = `/api/v2/workflows/${workflowId}`;
  const run = await api.call<RunResponse>('POST', `${path}/execute`, { body: { input: { n: 7 } } });
  const { runId } = run.data;
  const get = async <Data>(subpath: string, options?: { key?: string | null }) =>
    api.call<Data>('GET', `/api/v2/logs/${runId}/${subpath}`, options);
  return { workflowId, path, runId, get };
}

describe('operations that read a run in parts', () => {
  it('list spans in pages, each before its children, and filter them', async () => {
    const api = await setUp();
    const { get } = await execute(api, NESTED_WORKFLOW);
    const fullResponse = await get<Span[]>('spans?limit=1000');
    const spans = fullResponse.data;
    expect(
      spans.every(
        ({ parentId }, index) => spans.slice(0, index).some(({ id }) => id === parentId) || parentId === '',
      ),
    ).toBe(true);
    expect(Math.max(...spans.map(({ depth }) => depth))).toBe(4);
    expect(JSON.stringify(fullResponse.body)).not.toContain('bold');
    const pagedSpans: Span[] = [];
    let cursor = '';
    for (let page = 0; page < 50; page += 1) {
      const { body } = await get(`spans?limit=4${cursor && `&cursor=${cursor}`}`);
      const { data, nextCursor } = body as { data: Span[]; nextCursor: string | null };
      pagedSpans.push(...data);
      if (nextCursor === null) break;
      cursor = nextCursor;
    }
    expect(pagedSpans).toEqual(spans);
    const outerSpan = spans.find(({ depth, childCount }) => depth === 0 && childCount > 0)!;
    const secondIteration = await get<Span[]>(
      `spans?under=${encodeURIComponent(outerSpan.id)}&direct=true&index=1`,
    );
    expect(secondIteration.data).toMatchObject([
      { index: 1, parentId: outerSpan.id, id: `${outerSpan.id}/1` },
    ]);
    const failedResponse = await get<Span[]>('spans?status=failed');
    expect(failedResponse.data.map(({ id }) => id)).toEqual(
      spans.filter(({ status }) => status === 'failed').map(({ id }) => id),
    );
    expect((await get('spans?under=nothing')).status).toBe(404);
    expect((await get(`spans?limit=2&cursor=${encodeURIComponent('forged')}`)).status).toBe(400);
    expect((await get('spans?limit=1001')).status).toBe(400);
  });

  it('count the executions of each block, in all iterations or in one', async () => {
    const api = await setUp();
    const { get } = await execute(api, NESTED_WORKFLOW);
    const spans = (await get<Span[]>('spans?limit=1000')).data;
    const oddSpan = spans.find(({ status, blockId }) => status === 'failed' && blockId !== null)!;
    const readStateAt = async (scope: string) => {
      const { data } = await get<{ blocks: BlockState[] }>(
        `states${scope && `?scope=${encodeURIComponent(scope)}`}`,
      );
      return data.blocks.find(({ blockId }) => blockId === oddSpan.blockId)!;
    };
    expect(await readStateAt('')).toMatchObject({ total: 6, failed: 1, completed: 5 });
    const innerIterationId = oddSpan.parentId;
    expect(await readStateAt(innerIterationId)).toMatchObject({ total: 1, failed: 1, spanId: oddSpan.id });
    const outerIterationId = innerIterationId.split('/').slice(0, 2).join('/');
    expect(await readStateAt(outerIterationId)).toMatchObject({ total: 2, failed: 1, completed: 1 });
    const container = (await get<{ blocks: BlockState[] }>('states')).data.blocks.find(
      ({ blockId }) => blockId === innerIterationId.split('/')[0],
    );
    expect(container?.iterations).toMatchObject({ total: 3 });
    expect((await get('states?scope=nothing')).status).toBe(404);
  });

  it('count exactly the spans of each iteration', async () => {
    const api = await setUp();
    const { get } = await execute(api, NESTED_WORKFLOW);
    const spans = (await get<Span[]>('spans?limit=1000')).data;
    for (const iteration of spans.filter(({ index }) => index !== null)) {
      const { data } = await get<{ blocks: BlockState[] }>(
        `states?scope=${encodeURIComponent(iteration.id)}`,
      );
      const innerSpans = spans.filter(
        ({ id, blockId }) => id.startsWith(`${iteration.id}/`) && blockId !== null,
      );
      for (const { blockId } of innerSpans) {
        const state = data.blocks.find((candidate) => candidate.blockId === blockId);
        expect(state?.total).toBe(innerSpans.filter((innerSpan) => innerSpan.blockId === blockId).length);
      }
    }
  });

  it('return values by JSON pointer, in parts, and as a file', async () => {
    const api = await setUp();
    const { get } = await execute(api, NESTED_WORKFLOW);
    const spans = (await get<Span[]>('spans?limit=1000')).data;
    const { id } = spans.filter(({ depth }) => depth === 0).at(-1)!;
    const createValuePath = (path: string) =>
      `value?spanId=${encodeURIComponent(id)}&part=output&path=${encodeURIComponent(path)}`;
    const value = await get<{ kind: string; size: number; bytes: number }>(createValuePath('/result'));
    expect(value.data).toMatchObject({ kind: 'object', size: 2, nextOffset: null, nextEntry: null });
    expect((await get(createValuePath('/result/list/1/a~1b'))).data).toMatchObject({
      kind: 'string',
      text: '"x"',
    });
    expect((await get(createValuePath('/result/list/9'))).status).toBe(404);
    expect((await get(createValuePath('/result/__proto__'))).status).toBe(404);
    expect((await get(createValuePath('result'))).status).toBe(400);
    expect((await get('value?part=input')).data).toMatchObject({ text: expect.stringContaining('"n": 7') });
    const file = await get(`value/download?spanId=${encodeURIComponent(id)}&part=output`);
    expect(file.headers.get('content-disposition')).toBe('attachment; filename="output.json"');
    expect(file.headers.get('content-security-policy')).toContain('sandbox');
    expect(file.body).toMatchObject({ result: { text: '<b>bold</b>' } });
  });

  it('stream events without values, and continue after the last one received', async () => {
    const api = await setUp();
    const { runId } = await execute(api, NESTED_WORKFLOW);
    const path = `/api/v2/logs/${runId}/events`;
    const text = await (await api.fetch('GET', path)).text();
    expect(text).not.toContain('bold');
    expect(text.endsWith('data: "[DONE]"\n\n')).toBe(true);
    const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, number]) => Number(number));
    expect(ids).toEqual(ids.map((_, index) => index + 1));
    const remainingText = await (
      await api.fetch('GET', path, { headers: { 'Last-Event-ID': String(ids.length - 1) } })
    ).text();
    expect([...remainingText.matchAll(/^id: /gm)]).toHaveLength(1);
    expect((await api.fetch('GET', path, { headers: { 'Last-Event-ID': 'x' } })).status).toBe(400);
  });

  it('show the token of a pause only to those who may resume', async () => {
    const api = await setUp();
    const { get } = await execute(api, PAUSING_WORKFLOW);
    const overview = await get<{ status: string; pauses: { contextId: string | null; blockName: string }[] }>(
      'overview',
    );
    expect(overview.data).toMatchObject({
      status: 'paused',
      mayResume: true,
      pauses: [{ blockName: 'Ask', kind: 'human' }],
    });
    const token = overview.data.pauses[0]?.contextId ?? '';
    expect(token.length).toBeGreaterThan(20);
    const userId = await api.store.workspaces.createUser({ email: 'reader@heddle.test', name: 'Reader' });
    await api.store.workspaces.setMember(api.workspaceId, userId, 'read');
    const { key } = await api.store.keys.create({ userId }, 'reader');
    const readerOverview = await get<{ pauses: object[] }>('overview', { key });
    expect(readerOverview.data).toMatchObject({
      mayResume: false,
      pauses: [{ contextId: null, output: null }],
    });
    const spans = (await get<Span[]>('spans')).data;
    const pausedSpan = spans.find(({ status }) => status === 'paused')!;
    for (const response of [
      readerOverview,
      await get('spans', { key }),
      await get('value?part=output', { key }),
      await get(`value?part=output&spanId=${encodeURIComponent(pausedSpan.id)}`, { key }),
    ])
      expect(JSON.stringify(response.body)).not.toContain(token);
  });
});

describe('a rerun', () => {
  it('starts a new run with the same input or another input', async () => {
    const api = await setUp();
    const { path, runId } = await execute(api, NESTED_WORKFLOW);
    const rerunResponse = await api.call<{ runId: string }>('POST', `${path}/runs/${runId}/rerun`, {
      body: {},
    });
    expect(rerunResponse.status).toBe(202);
    expect(rerunResponse.data.runId).not.toBe(runId);
    const readInput = async (id: string) =>
      (await api.call<{ text: string }>('GET', `/api/v2/logs/${id}/value?part=input&path=/n`)).data.text;
    expect(await readInput(rerunResponse.data.runId)).toBe('7');
    const rerunWithInputResponse = await api.call<{ runId: string }>('POST', `${path}/runs/${runId}/rerun`, {
      body: { input: { n: 8 } },
    });
    expect(await readInput(rerunWithInputResponse.data.runId)).toBe('8');
  });

  it('from a block keeps the outputs of earlier blocks', async () => {
    const api = await setUp();
    const { path, runId, get } = await execute(api, NESTED_WORKFLOW);
    const spans = (await get<Span[]>('spans?limit=1000')).data;
    const blockId = spans.filter(({ depth }) => depth === 0).at(-1)!.blockId!;
    for (const version of ['run', 'live']) {
      const rerunResponse = await api.call<{ runId: string }>('POST', `${path}/runs/${runId}/rerun`, {
        body: { blockId, version },
      });
      expect(rerunResponse.status).toBe(202);
      await api.engine.attach(rerunResponse.data.runId).then(
        (run) => run.result(),
        () => undefined,
      );
      const spansOfRerun = await api.call<Span[]>('GET', `/api/v2/logs/${rerunResponse.data.runId}/spans`);
      expect(spansOfRerun.data.map(({ blockId: id }) => id)).toEqual([blockId]);
    }
  });

  it('inside an iteration keeps the results of earlier iterations, and needs the iteration numbers', async () => {
    const api = await setUp();
    const loopBlocks = [fn('Cost', 'return <loop.index>'), fn('Double', 'return <cost.result> * 2')];
    const eachLoop = loop('Each', { loopType: 'for', count: 3 }, ...loopBlocks);
    const { path, runId, get } = await execute(
      api,
      workflow([eachLoop], ['Start -> Each -> Cost -> Double']),
    );
    const spans = (await get<Span[]>('spans?limit=1000')).data;
    const blockId = spans.findLast((span) => span.blockId !== null)?.blockId ?? '';
    const rerun = (body: object) =>
      api.call<{ runId: string }>('POST', `${path}/runs/${runId}/rerun`, { body });
    const rerunResponse = await rerun({ blockId, iterations: [1] });
    expect(rerunResponse.status).toBe(202);
    await api.engine.attach(rerunResponse.data.runId).then(
      (run) => run.result(),
      () => undefined,
    );
    const spansOfRerun = await api.call<Span[]>(
      'GET',
      `/api/v2/logs/${rerunResponse.data.runId}/spans?limit=1000`,
    );
    const iterations = spansOfRerun.data.flatMap(({ index }) => index ?? []);
    expect(iterations).toEqual([1, 2]);
    const valuePath = `/api/v2/logs/${rerunResponse.data.runId}/value?part=output&path=/results`;
    const results = JSON.parse((await api.call<{ text: string }>('GET', valuePath)).data.text) as object[][];
    expect(results).toMatchObject([0, 1, 2].map((n) => [{ result: n }, { result: n * 2 }]));
    for (const [body, message] of [
      [{ blockId }, /Give the indexes of its iterations/],
      [{ blockId, iterations: [7] }, /iteration 7 of "Each" did not run/],
      [{ blockId, iterations: [1, 0] }, /give 1 number /],
      [{ blockId, iterations: [-1] }, /iterations/],
      [{ blockId, iterations: ['__proto__'] }, /iterations/],
      [{ iterations: [1] }, /need a blockId/],
    ] as const) {
      const response = await rerun(body);
      expect([response.status, errorIn(response.body).message]).toEqual([
        400,
        expect.stringMatching(message),
      ]);
    }
  });

  it('is refused for an unknown block, a run that has not ended, and a version without a block', async () => {
    const api = await setUp();
    const { path, runId } = await execute(api, NESTED_WORKFLOW);
    const rerun = (body: object, runPath = `${path}/runs/${runId}`) =>
      api.call('POST', `${runPath}/rerun`, { body });
    expect((await rerun({ blockId: 'nothing' })).status).toBeGreaterThanOrEqual(400);
    expect(errorIn((await rerun({ version: 'run' })).body).message).toContain('blockId');
    const pausedRun = await execute(api, PAUSING_WORKFLOW);
    const refusedResponse = await rerun({ blockId: 'Ask' }, `${pausedRun.path}/runs/${pausedRun.runId}`);
    expect(refusedResponse.status).toBe(409);
    expect((await rerun({}, `${path}/runs/nothing`)).status).toBe(404);
  });

  it('replaces outputs of earlier blocks and fields of the block, and refuses edits that the run does not use', async () => {
    const api = await setUp();
    const sumWorkflow = workflow(
      [
        fn('Sum', 'return 1'),
        block('Answer', 'response', { dataMode: 'json', data: '{"sum":<sum.result>}' }),
      ],
      ['Start -> Sum -> Answer'],
    );
    const { path, runId, get } = await execute(api, sumWorkflow);
    const spans = (await get<Span[]>('spans')).data;
    const [, sumBlockId = '', answerBlockId = ''] = spans.map(({ blockId }) => blockId ?? '');
    const rerun = (body: object, key = api.key) =>
      api.call<{ runId: string }>('POST', `${path}/runs/${runId}/rerun`, {
        body: { blockId: answerBlockId, ...body },
        key,
      });
    const outputOf = async ({ data }: { data: { runId: string } }) => {
      await api.engine.attach(data.runId).then(
        (run) => run.result(),
        () => undefined,
      );
      const valuePath = `/api/v2/logs/${data.runId}/value?part=output&path=/data`;
      return JSON.parse((await api.call<{ text: string }>('GET', valuePath)).data.text) as unknown;
    };
    const outputs = { [sumBlockId]: { result: 41 } };
    expect(await outputOf(await rerun({ outputs }))).toEqual({ sum: 41 });
    const fields = { data: { sum: '<sum.result> {{HOME}}' } };
    expect(await outputOf(await rerun({ fields, version: 'live' }))).toEqual(fields.data);

    const { key } = await api.store.keys.create({ workspaceId: api.workspaceId }, 'machine');
    expect(await outputOf(await rerun({ outputs }, key))).toEqual({ sum: 41 });
    const refusedResponse = await rerun({ fields }, key);
    expect([refusedResponse.status, errorIn(refusedResponse.body).details]).toEqual([
      403,
      { code: 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED' },
    ]);
    const invalidRequests = [
      [{ fields: { nope: 1 } }, /"nope" of "Answer" cannot be replaced/],
      [{ outputs: { [answerBlockId]: {} } }, /"Answer" cannot be replaced/],
      [{ outputs, blockId: undefined }, /need a blockId/],
      [{ outputs: { [sumBlockId]: 'text' } }, /sum|object|record/i],
    ] as const;
    for (const [body, message] of invalidRequests) {
      const response = await rerun(body);
      expect([response.status, errorIn(response.body).message]).toEqual([
        400,
        expect.stringMatching(message),
      ]);
    }
  });
});

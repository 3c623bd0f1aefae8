import type { Json, JsonObject } from '@heddle/core/blocks';
import { describe, expect, it } from 'vitest';
import { Tools } from './tools.ts';
import type { CatalogTool, ToolsQuery } from './tools.ts';

const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    city: { type: 'string', description: 'Where.' },
    days: { type: 'integer', default: 1 },
    units: { type: 'array', items: { type: 'string' } },
  },
  required: ['city'],
};

function createTool(id: string, run: CatalogTool['run'] = async () => null): CatalogTool {
  return { id, description: `Does ${id}.`, parameters: PARAMETERS, run };
}

const DEFAULT_QUERY: ToolsQuery = { sortBy: 'id', sortOrder: 'asc', limit: 50 };
const CALL = { args: { city: 'Ulm' }, idempotencyKey: 'k', timeoutMs: 60_000 };

function runTool(run: CatalogTool['run'], options: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  return new Tools([createTool('t', run)]).run('t', {
    ...CALL,
    signal: new AbortController().signal,
    ...options,
  });
}

describe('Tools', () => {
  it('lists tools by id or name, filtered', async () => {
    const tools = new Tools([createTool('b'), { ...createTool('a'), name: 'Zulu' }]);
    const listIds = async (query: Partial<ToolsQuery> = {}): Promise<string[]> =>
      (await tools.list({ ...DEFAULT_QUERY, ...query })).page.map(({ id }) => id);
    expect(await listIds()).toEqual(['a', 'b']);
    expect(await listIds({ sortBy: 'name', sortOrder: 'desc' })).toEqual(['b', 'a']);
    expect(await listIds({ search: 'zul' })).toEqual(['a']);
    expect(await listIds({ hostedApiKey: 'none' })).toEqual(['a', 'b']);
    expect(await listIds({ hostedApiKey: 'always' })).toEqual([]);
    expect(await listIds({ oauthProvider: 'x' })).toEqual([]);
    const firstPage = await tools.list({ ...DEFAULT_QUERY, limit: 1 });
    expect(await tools.list({ ...DEFAULT_QUERY, limit: 1, afterPosition: firstPage.next })).toMatchObject({
      page: [{ id: 'b' }],
    });
  });

  it('lists described tools and registered ones, which take precedence, and runs only registered ones', async () => {
    const descriptions = ['t', 'u'].map((id) => ({ id, description: 'Other.', parameters: PARAMETERS }));
    const tools = new Tools([createTool('t')], async () => descriptions);
    const { page } = await tools.list(DEFAULT_QUERY);
    expect(page.map(({ id, description }) => [id, description])).toEqual([
      ['t', 'Does t.'],
      ['u', 'Other.'],
    ]);
    expect(await tools.find('u')).toMatchObject({ params: { city: { required: true } } });
    const { signal } = new AbortController();
    expect(await tools.run('t', { ...CALL, signal })).toMatchObject({ status: 'completed' });
    expect(await tools.run('u', { ...CALL, signal })).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('runs only in workflows') as string,
    });
  });

  it('reads descriptions again after a failure', async () => {
    const results = [Promise.reject(new Error('unreadable')), Promise.resolve([])];
    const tools = new Tools([createTool('t')], () => results.shift() ?? Promise.resolve([]));
    await expect(tools.list(DEFAULT_QUERY)).rejects.toThrow('unreadable');
    expect((await tools.list(DEFAULT_QUERY)).page).toMatchObject([{ id: 't' }]);
  });

  it('shows the arguments of a tool', async () => {
    expect(await new Tools([createTool('t')]).find('t')).toMatchObject({
      ...{ id: 't', name: 't', hostedApiKey: 'none' },
      params: {
        city: { type: 'string', required: true, description: 'Where.' },
        days: { type: 'integer', required: false, default: 1 },
        units: { type: 'array', required: false, items: { type: 'string' } },
      },
    });
    expect(await new Tools([]).find('constructor')).toBeUndefined();
  });

  it('finds arguments that do not match the schema', () => {
    const tools = new Tools([createTool('t')]);
    expect(tools.validateArguments('t', { city: 'Ulm', days: 2 })).toEqual([]);
    expect(tools.validateArguments('t', { days: 'two' }).map(({ path }) => path)).toEqual(['city', 'days']);
  });

  it('returns the output of a tool', async () => {
    const receivedArguments: Json[] = [];
    const outcome = await runTool(async (args, { params, idempotencyKey }) => {
      receivedArguments.push(args, params, idempotencyKey);
      return { warm: true };
    });
    expect(outcome).toEqual({ status: 'completed', output: { warm: true }, error: null });
    expect(receivedArguments).toEqual([{ city: 'Ulm' }, {}, 'k']);
    const outcomeWithoutResult = await runTool(async () => undefined as never);
    expect(outcomeWithoutResult).toMatchObject({ status: 'completed', output: null });
  });

  it('fails with the error of a tool, for a result that is too large, and after the time limit', async () => {
    expect(await runTool(() => Promise.reject(new Error('no such city')))).toEqual({
      ...{ status: 'failed', output: null, error: 'no such city' },
    });
    const largeOutcome = await runTool(async () => 'x'.repeat(8 * 2 ** 20));
    expect(largeOutcome).toMatchObject({ status: 'failed', error: 'The output is larger than 8 MiB.' });
    let signal: AbortSignal | undefined;
    const endlessOutcome = await runTool(
      (_args, context) => {
        ({ signal } = context);
        return new Promise(() => undefined);
      },
      { timeoutMs: 20 },
    );
    expect(endlessOutcome).toMatchObject({
      status: 'failed',
      error: 'The tool did not end within 0.02 seconds.',
    });
    expect(signal?.aborted).toBe(true);
  });

  it('ends when the caller disconnects', async () => {
    const cancelController = new AbortController();
    const outcome = runTool(() => new Promise(() => undefined), { signal: cancelController.signal });
    cancelController.abort(new Error('gone'));
    expect(await outcome).toMatchObject({ status: 'failed' });
  });

  it('refuses two tools with the same id, and parameters that do not describe an object', () => {
    expect(() => new Tools([createTool('t'), createTool('t')])).toThrow('two tools with the id "t"');
    expect(() => new Tools([{ ...createTool('t'), parameters: { type: 'string' } }])).toThrow(
      'not the schema',
    );
    expect(() => new Tools([{ ...createTool('t'), parameters: {} }])).toThrow('not the schema');
  });
});

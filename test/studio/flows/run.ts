import { spawnSync } from 'node:child_process';
import type { Page } from 'playwright-core';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { sampledTests } from '../../support/scale.ts';
import { startModelServer } from '../../support/model-server.ts';
import { block, fn, loop, workflow } from '../../support/workflow.ts';
import { startStudio } from '../setup.ts';
import type { GetServeArgs } from '../setup.ts';
import { REFUND_APPROVAL_WORKFLOW, TOOL_CALL, LARGE_WORKFLOW, ONE_STEP_WORKFLOW } from '../workflows.ts';

const FAILING_CODE =
  "const weather = await Promise.resolve('dry');\nthrow new Error(`no umbrella when ${weather}`);";
const ADD_TOOL = {
  type: 'custom-tool',
  schema: {
    type: 'function',
    function: {
      name: 'add',
      description: 'Adds',
      parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
    },
  },
  code: 'return a + b',
};
const AGENT_WORKFLOW = workflow(
  [
    block('Helper', 'agent', {
      model: 'gpt-4o',
      apiKey: 'key-of-a-test',
      messages: [{ role: 'user', content: 'Add' }],
      tools: [ADD_TOOL],
    }),
    fn('Fail', FAILING_CODE),
  ],
  ['Start -> Helper -> Fail'],
);

const APPROVAL_AGENT_WORKFLOW = workflow(
  [
    block('Helper', 'agent', {
      model: 'gpt-4o',
      apiKey: 'key-of-a-test',
      messages: [{ role: 'user', content: 'Add twice' }],
      tools: [{ ...ADD_TOOL, requireApproval: true }],
    }),
  ],
  ['Start -> Helper'],
);

/** Defines the tests of the page that shows a run. */
export function defineRunTests(getServeArgs: GetServeArgs): void {
  const sampledIt = sampledTests(1 / 4, 'large runs in the Studio');
  const studio = startStudio({
    getServeArgs,
    getExtraArgs: async (registerCleanup) => {
      const modelServer = await startModelServer(({ body }) => {
        const prompt = JSON.stringify(body);
        if (/"role":"tool"|function_call_output/.test(prompt))
          return { text: 'It is 42.', inputTokens: 50, outputTokens: 7 };
        const calls = prompt.includes('Add twice')
          ? [
              { a: 20, b: 22 },
              { a: 1, b: 2 },
            ]
          : [{ a: 20, b: 22 }];
        return { toolCalls: calls.map((args) => ({ name: 'add', args })), inputTokens: 30, outputTokens: 5 };
      });
      registerCleanup(() => void modelServer.close());
      return ['--service', `openai=${modelServer.services.openai}`];
    },
  });
  let agentRunId = '';

  beforeAll(async () => {
    agentRunId = await studio.run(await studio.deploy('Weather', AGENT_WORKFLOW));
  });

  async function open(path: string): Promise<Page> {
    const page = await studio.context.newPage();
    onTestFinished(() => page.close());
    await page.goto(studio.url + path);
    return page;
  }

  it('shows the usage of a model by an agent, and its tool calls', async () => {
    const page = await open(`/runs/${agentRunId}?pane=details`);
    await page.getByRole('button', { name: 'Helper, completed' }).click();
    const model = page.getByRole('region', { name: 'Model' });
    await model.getByText('gpt-4o').waitFor();
    expect(await model.textContent()).toMatch(/Tokens, input80.*Tokens, output12.*Cost\$0\.\d+/);
    await model.getByRole('heading', { name: 'Tool calls (1)' }).waitFor();
    await model.locator('button.tree-line').first().click();
    await model.getByText('"add"').waitFor();
  });

  it('shows an error at its line in the code', async () => {
    const page = await open(`/runs/${agentRunId}?pane=details`);
    await page.getByRole('button', { name: 'Fail, failed' }).click();
    await page.locator('.span-error').getByText('no umbrella when dry').waitFor();
    const markedLine = page.locator('.code-line[aria-current]');
    await markedLine.waitFor();
    expect(await markedLine.textContent()).toContain('throw new Error');
  });

  it('starts a run at the container of an iteration, with a changed output of an earlier block', async () => {
    const definition = workflow(
      [
        fn('Price', 'return 10'),
        loop('Twice', { loopType: 'for', count: 2 }, fn('Double', 'return <price.result> * 2')),
      ],
      ['Start -> Price -> Twice -> Double'],
    );
    const runId = await studio.run(await studio.deploy('Prices', definition));
    const page = await open(`/runs/${runId}?span=Price&pane=details`);
    await page.getByRole('button', { name: 'Double, completed' }).click();
    await page.getByRole('button', { name: 'Run from here' }).click();
    const choice = page.getByRole('dialog').getByRole('combobox', { name: 'Start', exact: true });
    await choice.selectOption('At Twice, with all its iterations');
    const dialog = page.getByRole('dialog', { name: 'Start a run at Twice?' });
    await dialog.getByLabel('Change before it starts').selectOption('The output of Price');
    const valueField = dialog.getByLabel('New value, as JSON');
    await expect.poll(() => valueField.inputValue()).toContain('"result": 10');
    await valueField.fill('{"result": 2');
    await dialog.getByRole('button', { name: 'Run from here' }).click();
    await dialog.getByRole('alert').getByText('The changed value is not JSON').waitFor();
    await valueField.fill('{"result": 21}');
    await dialog.getByRole('button', { name: 'Run from here' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(runId));
    await page.locator('.run-title').getByText('Completed').waitFor();
    await page.getByRole('button', { name: 'Price, has not run' }).waitFor();
    const outputPath = `${new URL(page.url()).pathname.replace('/runs/', '/api/v2/logs/')}/value?part=output`;
    expect((await studio.call<{ text: string }>('GET', outputPath)).text).toContain('42');
  });

  const largeRunTitle =
    'shows 2,000 blocks with under 1,500 DOM elements at any zoom, and finds a block with the outline';
  sampledIt(largeRunTitle, { timeout: 90_000 }, async () => {
    const runId = await studio.run(await studio.deploy('Large', LARGE_WORKFLOW));
    const page = await open(`/runs/${runId}`);
    const nodes = page.locator('.graph .block');
    const countElements = () => page.evaluate<number>('document.querySelectorAll("*").length');
    await page.locator('.simplified-blocks path').first().waitFor();
    // All blocks are in view, but none has a separate element.
    expect(await page.locator('.simplified-blocks path').count()).toBeLessThan(5);
    expect(await nodes.count()).toBe(0);
    expect(await countElements()).toBeLessThan(1500);
    await page.getByRole('navigation', { name: 'Blocks' }).getByRole('button').first().focus();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Last', exact: true }).waitFor();
    await nodes.filter({ hasText: 'Last' }).waitFor();
    expect(await nodes.count()).toBeLessThan(200);
    expect(await countElements()).toBeLessThan(1500);
    await page.getByRole('button', { name: 'Fit View' }).click();
    await expect.poll(() => nodes.count()).toBe(0);
    const blocksBox = await page.locator('.simplified-blocks g').boundingBox();
    const viewBox = await page.getByRole('region', { name: 'Graph' }).boundingBox();
    expect(isWithin(blocksBox, viewBox)).toBe(true);
  });

  it('computes the layout of 100 blocks without positions in a web worker', async () => {
    const names = Array.from({ length: 99 }, (_, index) => `Step${index}`);
    const chain = workflow(
      names.map((name) => block(name, 'variables', {})),
      [`Start -> ${names.join(' -> ')}`],
    );
    const page = await studio.context.newPage();
    onTestFinished(() => page.close());
    const workerEvent = page.waitForEvent('worker');
    await page.goto(`${studio.url}/workflows/${await studio.deploy('Chain', chain)}`);
    expect((await workerEvent).url()).toMatch(/^http:.*\/layout-worker[^/]*\.js$/);
    await page.locator('.graph .block').first().waitFor();
  });

  /** Returns the span with this number in the format of the API. */
  function span(number: number, parentId = '', index: number | null = null) {
    return {
      ...{
        id: parentId === '' ? `S${number}` : `${parentId}/${number}`,
        parentId,
        depth: parentId === '' ? 0 : 1,
        index,
      },
      ...{ name: `Span ${number}`, type: 'function', blockId: 'Fail' },
      ...{ status: 'completed', errorHandled: false },
      ...{
        relativeStartMs: number * 10,
        durationMs: 10,
        startTime: new Date(number * 10).toISOString(),
        childCount: 0,
      },
      ...{ error: null, attempts: null, inputBytes: null, outputBytes: null },
    };
  }

  /**
   * Responds to requests for spans as if the run had `spanCount` spans. Returns a list that contains the queries of the
   * requests so far.
   */
  async function simulateSpans(
    page: Page,
    spanCount: number,
    spanAt: (number: number) => object,
  ): Promise<URLSearchParams[]> {
    const queries: URLSearchParams[] = [];
    await page.route('**/spans?*', async (route) => {
      const query = new URL(route.request().url()).searchParams;
      queries.push(query);
      const startIndex = Number(query.get('cursor') ?? 0);
      const endIndex = Math.min(spanCount, startIndex + Number(query.get('limit')));
      const data = Array.from({ length: endIndex - startIndex }, (_, index) => spanAt(startIndex + index));
      await route.fulfill({ json: { data, nextCursor: endIndex < spanCount ? `${endIndex}` : null } });
    });
    return queries;
  }

  sampledIt(
    'shows a timeline of 40,000 spans with only the rows in view, and reads it in pages',
    { timeout: 60_000 },
    async () => {
      const page = await open('/runs');
      const queries = await simulateSpans(page, 40_000, (number) => span(number));
      await page.goto(`${studio.url}/runs/${agentRunId}?view=timeline`);
      const spans = page.getByRole('list', { name: 'Spans' });
      await spans.getByText('Span 0', { exact: true }).waitFor();
      expect(queries).toHaveLength(1);
      const lastSpan = page.getByText('Span 39999', { exact: true });
      await expect
        .poll(
          async () => {
            await page.evaluate('document.querySelector(".timeline-scroll").scrollTop = 1e9');
            return lastSpan.count();
          },
          { timeout: 45_000 },
        )
        .toBe(1);
      expect(queries).toHaveLength(80);
      expect(await spans.getByRole('listitem').count()).toBeLessThan(80);
      expect(await page.evaluate<number>('document.querySelectorAll("*").length')).toBeLessThan(1500);
    },
  );

  sampledIt('shows 100,000 iterations in pages, and jumps to an iteration by its number', async () => {
    const runId = await studio.run(
      await studio.deploy(
        'Often',
        workflow([loop('L', { loopType: 'for', count: 2 }, fn('Step', 'return 1'))], ['Start -> L -> Step']),
      ),
    );
    const page = await open('/runs');
    await page.route('**/states*', async (route) => {
      // The simulated iterations have no blocks.
      if (route.request().url().includes('scope=')) return route.fulfill({ json: { data: { blocks: [] } } });
      const response = await route.fetch();
      const { data } = (await response.json()) as { data: { blocks: { iterations: object | null }[] } };
      const blocks = data.blocks.map(({ iterations, ...state }) => ({
        ...state,
        iterations: iterations && { ...iterations, total: 100_000, completed: 100_000 },
      }));
      return route.fulfill({ response, json: { data: { ...data, blocks } } });
    });
    const loopId = await studio.findBlockId(runId, 'L');
    const queries = await simulateSpans(page, 100_000, (number) => span(number, loopId, number));
    await page.goto(`${studio.url}/runs/${runId}?span=${encodeURIComponent(loopId)}`);
    const iterations = page.getByRole('region', { name: 'Iterations' });
    await iterations.getByText('All 100000').waitFor();
    await iterations.getByRole('button', { name: '#99 ' }).waitFor();
    expect(await iterations.getByRole('listitem').count()).toBe(100);
    await iterations.getByRole('button', { name: 'Show more' }).click();
    await iterations.getByRole('button', { name: '#199 ' }).waitFor();
    await iterations.getByLabel('Go to #').fill('99999');
    await page.keyboard.press('Enter');
    await page.getByText('L #99999').waitFor();
    expect(queries.filter((query) => query.get('under') === loopId).length).toBeLessThan(4);
    expect(await page.evaluate<number>('document.querySelectorAll("*").length')).toBeLessThan(1500);
  });

  sampledIt('reads only parts of an output of 64 MB', { timeout: 90_000 }, async () => {
    const code =
      'return { text: "x".repeat(3_000_000), list: Array.from({ length: 1000 }, () => "y".repeat(1000)) }';
    const properties = Array.from({ length: 16 }, (_, index) => `"part${index}": <huge.result>`).join();
    const responseBlock = block('Answer', 'response', {
      dataMode: 'json',
      data: `{${properties}}`,
      status: '200',
    });
    const hugeWorkflow = workflow([fn('Huge', code), responseBlock], ['Start -> Huge -> Answer']);
    const runId = await studio.run(await studio.deploy('Huge', hugeWorkflow), { async: true });
    const page = await open('/runs');
    let totalBytes = 0;
    page.on('response', (response) => {
      if (response.url().includes('/value?'))
        void response.body().then((body) => (totalBytes += body.length));
    });
    await page.goto(`${studio.url}/runs/${runId}`);
    await page.getByText(/^6\d MB$/).waitFor({ timeout: 60_000 });
    for (const name of ['data', 'part0', 'list']) await page.getByRole('button', { name }).first().click();
    await page.getByRole('button', { name: 'Show entries 100 to 199 of 1000' }).click();
    await page.getByRole('button', { name: 'text' }).first().click();
    await page.getByText('The beginning is shown').waitFor();
    expect(totalBytes).toBeGreaterThan(10_000);
    expect(totalBytes).toBeLessThan(1_000_000);
    expect(await page.evaluate<number>('document.querySelectorAll("*").length')).toBeLessThan(1500);
  });

  it('keeps a small graph completely in view, even in a narrow window', async () => {
    const page = await open(`/runs/${agentRunId}`);
    for (const width of [1280, 700, 390]) {
      await page.setViewportSize({ width, height: 800 });
      const nodes = page.locator('.graph .block');
      await expect
        .poll(async () => {
          const viewBox = await page.getByRole('region', { name: 'Graph' }).boundingBox();
          const boxes = await Promise.all((await nodes.all()).map((node) => node.boundingBox()));
          return boxes.length === 3 && boxes.every((box) => isWithin(box, viewBox));
        })
        .toBe(true);
    }
  });

  interface Box {
    x: number;
    y: number;
    width: number;
    height: number;
  }

  function isWithin(box: Box | null, view: Box | null): boolean {
    if (!box || !view) return false;
    const isInside = (start: 'x' | 'y', size: 'width' | 'height') =>
      box[start] >= view[start] && box[start] + box[size] <= view[start] + view[size] + 1;
    return isInside('x', 'width') && isInside('y', 'height');
  }

  it('copies a run as a curl command and as a test', async () => {
    await studio.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: studio.url });
    const runId = await studio.run(await studio.deploy('Step', ONE_STEP_WORKFLOW), {
      input: { name: "O'Hara" },
    });
    const page = await open(`/runs/${runId}`);
    const readClipboard = () => page.evaluate<string>('navigator.clipboard.readText()');
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByText('Copied').waitFor();
    const command = await readClipboard();
    const result = spawnSync('sh', ['-c', command], {
      env: { ...process.env, HEDDLE_API_KEY: studio.key },
      encoding: 'utf8',
    });
    expect(result.stderr === '' || result.stderr.includes('%')).toBe(true);
    expect(result.stdout).toContain('"completed"');
    await page.getByRole('button', { name: 'Copy as test' }).click();
    await expect.poll(readClipboard).toContain("import { createEngine } from '@heddle/engine';");
  });

  it('asks for a decision about each tool call that waits', async () => {
    const runId = await studio.run(await studio.deploy('Asks', REFUND_APPROVAL_WORKFLOW));
    const page = await open('/runs');
    await page.route('**/overview', async (route) => {
      const response = await route.fetch();
      const { data } = (await response.json()) as { data: { pauses: object[] } };
      const pauses = data.pauses.map((pause) => ({
        ...pause,
        inputFormat: [],
        output: { calls: [TOOL_CALL] },
      }));
      await route.fulfill({ response, json: { data: { ...data, pauses } } });
    });
    const resumeRequest = page.waitForRequest((request) => request.url().endsWith('/resume'));
    await page.goto(`${studio.url}/runs/${runId}`);
    const call = page.getByRole('group', { name: 'send_mail' });
    await call.getByText('ada@example.org').waitFor();
    await call.getByLabel('Decision').selectOption('edit');
    await call.getByLabel(/^to/).fill('eve@example.org');
    await call.getByLabel('copies').fill('2');
    await call.getByLabel('Reason').fill('wrong person');
    await page.getByRole('button', { name: 'Continue the run' }).click();
    expect((await resumeRequest).postDataJSON()).toMatchObject({
      input: {
        decisions: {
          '1.2': {
            decision: 'edit',
            arguments: { to: 'eve@example.org', urgent: false, copies: 2, lines: ['one'] },
            reason: 'wrong person',
          },
        },
      },
    });
  });

  it('continues an agent with the decisions: it makes the edited call, and not the denied call', async () => {
    const workflowId = await studio.deploy('Approved', APPROVAL_AGENT_WORKFLOW);
    const runId = await studio.run(workflowId);
    const page = await open(`/runs/${runId}`);
    const calls = page.getByRole('group', { name: 'add' });
    await calls.nth(1).waitFor();
    expect(await calls.count()).toBe(2);
    await calls.nth(0).getByLabel('Decision').selectOption('edit');
    await calls.nth(0).getByLabel(/^a/).fill('30');
    await calls.nth(1).getByLabel('Decision').selectOption('deny');
    await calls.nth(1).getByLabel('Reason').fill('once is enough');
    await page.getByRole('button', { name: 'Continue the run' }).click();
    const path = `/api/v2/workflows/${workflowId}/runs/${runId}?includeOutput=true`;
    const readRun = () => studio.call<{ status: string; output: unknown }>('GET', path);
    await expect.poll(readRun, { timeout: 10_000 }).toMatchObject({
      status: 'completed',
      output: {
        content: 'It is 42.',
        toolCalls: {
          list: [
            { arguments: { a: 30, b: 22 }, result: 52, approval: { decision: 'edit' } },
            { success: false, approval: { decision: 'deny', reason: 'once is enough' } },
          ],
        },
      },
    });
    await calls.first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Helper, completed' }).first().waitFor();
  });
}

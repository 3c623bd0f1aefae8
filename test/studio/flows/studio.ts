import type { Page } from 'playwright-core';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { sampledTests } from '../../support/scale.ts';
import { draftOf } from '../../support/draft.ts';
import { startStudio } from '../setup.ts';
import type { GetServeArgs } from '../setup.ts';
import {
  REFUND_APPROVAL_WORKFLOW,
  HOSTILE_TEXT,
  HOSTILE_OUTPUT_WORKFLOW,
  LONG_WAIT_WORKFLOW,
  NESTED_WORKFLOW,
  ONE_STEP_WORKFLOW,
  createHourlyWorkflow,
} from '../workflows.ts';

/** Defines the tests of the Studio in a browser. */
export function defineStudioTests(getServeArgs: GetServeArgs): void {
  const sampledIt = sampledTests(2 / 5, 'scenarios of the Studio in a browser');
  const studio = startStudio({ getServeArgs });
  let nestedId = '';
  let hostileId = '';
  let nestedRunId = '';

  beforeAll(async () => {
    nestedId = await studio.deploy('Nightly order prices', NESTED_WORKFLOW);
    hostileId = await studio.deploy(HOSTILE_TEXT.slice(0, 80), HOSTILE_OUTPUT_WORKFLOW);
    nestedRunId = await studio.run(nestedId);
    await studio.run(hostileId);
  });

  async function open(path: string): Promise<Page> {
    const page = await studio.context.newPage();
    onTestFinished(() => page.close());
    await page.goto(studio.url + path);
    return page;
  }

  sampledIt('lists runs, filters them, and distinguishes an empty result from a failure', async () => {
    const page = await open('/');
    const rows = page.getByRole('row');
    await page.getByRole('link', { name: 'Nightly order prices' }).first().waitFor();
    await page.getByLabel('Status').selectOption('failed');
    await expect.poll(() => rows.count()).toBe(2);
    expect(page.url()).toContain('status=failed');
    await page.getByLabel('Run id').fill('unknown');
    await page.getByText('No run matches the filters').waitFor();
    await page.route('**/api/v2/logs?*', (route) => route.fulfill({ status: 500, body: '{}' }));
    await page.getByLabel('Run id').fill('unknown2');
    await page.getByRole('alert').getByText('This could not be loaded').waitFor({ timeout: 20_000 });
    expect(await page.getByText('No run matches the filters').count()).toBe(0);
  });

  sampledIt('shows a new run in the list without a reload', async () => {
    const page = await open('/runs');
    await page.getByRole('link', { name: 'Nightly order prices' }).first().waitFor();
    const rowCount = await page.getByRole('row').count();
    await studio.run(nestedId);
    await expect.poll(() => page.getByRole('row').count(), { timeout: 10_000 }).toBe(rowCount + 1);
  });

  sampledIt('shows the states of a run, and of each iteration of nested containers', async () => {
    const page = await open(`/runs/${nestedRunId}`);
    const outline = page.getByRole('navigation', { name: 'Blocks' });
    await outline.getByRole('button', { name: 'Price, failed, handled by an error port' }).click();
    await outline.getByRole('button', { name: /^Regions/ }).click();
    const iterations = page.getByRole('region', { name: 'Iterations' });
    await iterations.getByRole('button', { name: '#1' }).click();
    await page.getByRole('navigation', { name: 'Shown iterations' }).getByText('Regions #1').waitFor();
    await outline.getByRole('button', { name: /^Orders/ }).click();
    await iterations.getByLabel('Go to #').fill('2');
    await page.keyboard.press('Enter');
    await page.getByText('Orders #2').waitFor();
    await outline.getByRole('button', { name: 'Price, failed' }).click();
    await page.getByRole('tab', { name: 'Details' }).click();
    await page.locator('.span-error').getByText('no price for this order').waitFor();
    await goToIteration(page, outline, '0');
    await outline.getByRole('button', { name: 'Price, completed' }).click();
    await page.getByRole('tab', { name: 'Output' }).click();
    await page.getByText('price').first().waitFor();
    expect(new URL(page.url()).searchParams.get('scope')).toMatch(/Regions.*\/1\/Orders.*\/0$/);
  });

  async function goToIteration(
    page: Page,
    outline: ReturnType<Page['getByRole']>,
    number: string,
  ): Promise<void> {
    await outline.getByRole('button', { name: /^Orders/ }).click();
    await page.getByRole('region', { name: 'Iterations' }).getByLabel('Go to #').fill(number);
    await page.keyboard.press('Enter');
    await page.getByText(`Orders #${number}`).waitFor();
  }

  sampledIt('shows hostile values as text', async () => {
    const [failedRun] = await studio.call<{ runId: string }[]>(
      'GET',
      `/api/v2/logs?workspaceId=${studio.workspaceId}&workflowIds=${hostileId}`,
    );
    const page = await open(`/runs/${failedRun?.runId}`);
    const outline = page.getByRole('navigation', { name: 'Blocks' });
    await outline.getByRole('button', { name: 'Say' }).click();
    await page.getByText('onerror').first().waitFor();
    await page.getByRole('button', { name: 'result' }).click();
    await page.getByRole('tab', { name: 'Console' }).click();
    await page.locator('.console', { hasText: 'onerror' }).waitFor();
    await page.getByRole('tab', { name: 'Output' }).click();
    await page.getByRole('button', { name: 'JSON' }).click();
    await page.locator('.cm-content', { hasText: 'onerror' }).waitFor();
    await outline.getByRole('button', { name: 'Fail' }).click();
    await page.getByRole('tab', { name: 'Details' }).click();
    await page.getByText('onerror').first().waitFor();
    expect(await page.locator('img, script:not([src])').count()).toBe(0);
    expect(await page.title()).toBe('Heddle');
  });

  sampledIt(
    'shows the beginning of a huge value with its full size, and downloads the whole value',
    async () => {
      const [failedRun] = await studio.call<{ runId: string }[]>(
        'GET',
        `/api/v2/logs?workspaceId=${studio.workspaceId}&workflowIds=${hostileId}`,
      );
      const page = await open(`/runs/${failedRun?.runId}`);
      await page.getByRole('navigation', { name: 'Blocks' }).getByRole('button', { name: 'Huge' }).click();
      await page.getByText('316 KB').waitFor();
      await page.getByRole('button', { name: 'result' }).click();
      await page.getByRole('button', { name: 'list' }).click();
      await page.getByRole('button', { name: 'Show entries 100 to 199 of 5000' }).click();
      await page.getByText('199', { exact: true }).first().waitFor();
      await page.getByRole('button', { name: 'text' }).click();
      await page.getByText('The beginning is shown').waitFor();
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download' }).click();
      const file = await (await download).createReadStream();
      let totalBytes = 0;
      for await (const chunk of file) totalBytes += (chunk as Buffer).length;
      expect(totalBytes).toBeGreaterThan(300_000);
    },
  );

  sampledIt('shows the timeline of a run', async () => {
    const page = await open(`/runs/${nestedRunId}?view=timeline`);
    await page.getByRole('list', { name: 'Spans' }).getByText('Price').first().click();
    await page.getByRole('heading', { name: 'Price', exact: true }).waitFor();
    expect(await page.getByRole('listitem').count()).toBeGreaterThan(10);
  });

  sampledIt('answers a pause with its form and shows the end of the run', async () => {
    const runId = await studio.run(await studio.deploy('Refunds', REFUND_APPROVAL_WORKFLOW));
    const page = await open(`/runs/${runId}`);
    await page.getByText('May the refund be paid?').waitFor();
    await page.getByLabel(/approved/).selectOption('true');
    await page.getByLabel('comment').fill('fine');
    await page.getByRole('button', { name: 'Continue the run' }).click();
    await page.locator('.run-title').getByText('Completed').waitFor();
    const value = await studio.call<{ text: string }>('GET', `/api/v2/logs/${runId}/value?part=output`);
    expect(value.text).toContain('paid');
  });

  sampledIt('cancels a run, and starts a run again from its beginning and from a block', async () => {
    const runId = await studio.run(await studio.deploy('Waits', LONG_WAIT_WORKFLOW), { async: true });
    const page = await open('/runs');
    await page.getByRole('link', { name: 'Waits' }).click();
    await page.getByRole('button', { name: 'Cancel run' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel run' }).click();
    await page.locator('.run-title').getByText('Cancelled').waitFor();
    expect(page.url()).toContain(runId);
    await page.goto(`${studio.url}/runs/${nestedRunId}`);
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click();
    await page.waitForURL((url) => !url.pathname.includes(nestedRunId));
    await page.locator('.run-title').getByText('Completed').waitFor();
    await page.getByRole('navigation', { name: 'Blocks' }).getByRole('button', { name: 'Summary' }).click();
    await page.getByRole('tab', { name: 'Details' }).click();
    await page.getByRole('button', { name: 'Run from here' }).click();
    const previousUrl = page.url();
    await page.getByRole('dialog').getByRole('button', { name: 'Run from here' }).click();
    await page.waitForURL((url) => url.pathname !== new URL(previousUrl).pathname);
    await page.locator('.run-title').getByText('Completed').waitFor();
    await page
      .getByRole('navigation', { name: 'Blocks' })
      .getByRole('button', { name: 'Load orders, has not run' })
      .waitFor();
  });

  sampledIt('cancels all runs that match a filter, and none without a filter', async () => {
    const workflowId = await studio.deploy('Many', LONG_WAIT_WORKFLOW);
    for (let count = 0; count < 3; count += 1) await studio.run(workflowId, { async: true });
    const page = await open('/runs');
    await page.getByRole('link', { name: 'Many' }).first().waitFor();
    expect(await page.getByRole('button', { name: 'Cancel runs' }).isDisabled()).toBe(true);
    await page.getByRole('textbox', { name: 'Workflow' }).fill('Many');
    await expect.poll(() => page.getByRole('row').count()).toBe(4);
    await page.getByRole('button', { name: 'Cancel runs' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel runs' }).click();
    await page.getByText('Cancelled: 3.').waitFor();
    await expect.poll(() => page.getByRole('row').getByText('Cancelled').count()).toBe(3);
  });

  sampledIt('finds runs by their values and errors, and shows the progress of the search', async () => {
    const page = await open('/runs');
    await page.getByLabel('Value or error').fill('all orders have');
    const matches = page.getByRole('region', { name: 'Matches' });
    await matches.getByText('all orders have a price').first().waitFor();
    await matches.getByText(/All \d+ runs were searched/).waitFor();
    await page.getByLabel('Found in').selectOption('error');
    await matches.getByText('No searched run contains “all orders have”').waitFor();
    await page.getByLabel('Value or error').fill('no price for this');
    await matches.getByRole('listitem').first().getByText('Price', { exact: true }).waitFor();
    await matches.getByRole('link', { name: 'Nightly order prices' }).first().click();
    await page.getByRole('heading', { name: 'Nightly order prices' }).waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/runs\/./);
  });

  sampledIt('starts all runs that match a filter again', async () => {
    await studio.run(await studio.deploy('Again', ONE_STEP_WORKFLOW));
    const page = await open('/runs?workflowName=Again');
    await page.getByRole('link', { name: 'Again' }).first().waitFor();
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByRole('dialog').getByText('runs that match the filters').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click();
    await page.getByText('Started: 1.').waitFor();
    await expect.poll(() => page.getByRole('row').getByText('Completed').count()).toBe(2);
  });

  sampledIt('shows workflows, versions and the dashboard', async () => {
    const page = await open('/workflows');
    await page.getByRole('link', { name: 'Nightly order prices' }).click();
    await page.getByRole('cell', { name: 'live' }).waitFor();
    await page.getByRole('link', { name: 'Dashboard' }).click();
    await page.getByRole('cell', { name: 'Nightly order prices' }).waitFor();
    await page.getByText('Median duration').waitFor();
    await expect.poll(() => page.locator('.chart canvas').count()).toBe(1);
  });

  it('shows the difference between two versions, triggers with their next times, and the deployment', async () => {
    const draft = draftOf(createHourlyWorkflow('return "old"'));
    const changedDraftJson = JSON.stringify(draft).replace('return', 'const text = \\"new\\";\\nreturn');
    const workflowId = await studio.deploy('Reports', REFUND_APPROVAL_WORKFLOW);
    await studio.redeploy(workflowId, draft);
    await studio.redeploy(workflowId, JSON.parse(changedDraftJson) as object);
    const page = await open(`/workflows/${workflowId}`);
    const difference = page.getByRole('region', { name: 'Difference between two versions' });
    await difference.getByText('changed: code').waitFor();
    const text = difference.getByRole('region', { name: 'Report, code' });
    await text.getByText('+ const text = "new";').waitFor();
    expect(await text.locator('[data-change=removed]').count()).toBe(0);
    await difference.getByLabel('From').selectOption('Version 3');
    await difference.getByText('Both versions are identical.').waitFor();
    const triggers = page.getByRole('region', { name: 'List of triggers' });
    await triggers.getByRole('cell', { name: 'schedule', exact: true }).waitFor();
    expect(await triggers.locator('time').count()).toBe(1);
    await page.getByText(/deploy version 3: active/).waitFor();
  });

  it('lists secrets by name without their values, and sandboxes', async () => {
    const { workspaceId } = studio;
    const body = { workspaceId, scope: 'workspace', value: 'hunter2-of-a-test' };
    await studio.call('PUT', '/api/v2/secrets/SHOP_KEY', body);
    const page = await open('/runs');
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('region', { name: 'List of secrets' }).getByText('SHOP_KEY').waitFor();
    await page.getByRole('region', { name: 'Sandboxes' }).getByText('There are none.').waitFor();
    expect(await page.content()).not.toContain('hunter2');
  });

  it('creates a key of the workspace, shows it once, and revokes it', async () => {
    const page = await open('/settings');
    const keys = page.getByRole('region', { name: 'API keys', exact: true });
    await keys.getByLabel('Name of a new key').fill('Deploys');
    await keys.getByRole('button', { name: 'Create key' }).click();
    const key = (await keys.locator('.new-key code').textContent()) ?? '';
    const { url, workspaceId } = studio;
    const requestStatus = async () =>
      (await fetch(`${url}/api/v2/workspaces/${workspaceId}`, { headers: { 'X-API-Key': key } })).status;
    expect(await requestStatus()).toBe(200);
    await keys.getByRole('cell', { name: 'Deploys' }).waitFor();
    await page.reload();
    await keys.getByRole('button', { name: 'Revoke' }).click();
    expect(await page.content()).not.toContain(key);
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await keys.getByText('There are none.').waitFor();
    expect(await requestStatus()).toBe(401);
  });

  it('shows the audit log of a workflow and of a run', async () => {
    const rerun = await studio.call<{ runId: string }>(
      'POST',
      `/api/v2/workflows/${nestedId}/runs/${nestedRunId}/rerun`,
      {},
    );
    const page = await open(`/workflows/${nestedId}`);
    const log = page.getByRole('region', { name: 'Audit log' });
    await log.getByText('Workflow deployed').waitFor();
    expect(await log.textContent()).toMatch(/Workflow created by .+ \(key .+\)/);
    await page.goto(`${studio.url}/runs/${rerun.runId}?pane=details`);
    await log.getByText('Run rerun').waitFor();
  });

  it('loads nothing from other servers and does not violate its content security policy', () => {
    const isOtherOrigin = (url: string) => !url.startsWith(studio.url) && !url.startsWith('blob:');
    expect(studio.requestedUrls.filter(isOtherOrigin)).toEqual([]);
    expect(studio.errors.filter((errorText) => !/status of (404|500)/.test(errorText))).toEqual([]);
  });
}

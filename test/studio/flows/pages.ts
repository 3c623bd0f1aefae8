import type { Locator, Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { draftOf } from '../../support/draft.ts';
import { HOOK_CREDENTIALS, startHookProviders } from '../../support/hook-providers.ts';
import type { HookProviders } from '../../support/hook-providers.ts';
import { block, fn, loop, workflow } from '../../support/workflow.ts';
import { createWebhookWorkflow } from '../../triggers/webhook-setup.ts';
import { startStudio, styleOf } from '../setup.ts';
import type { GetServeArgs } from '../setup.ts';
import { HOSTILE_TEXT, NESTED_WORKFLOW, ONE_STEP_WORKFLOW } from '../workflows.ts';

/** The public URL of the server for providers. */
const ORIGIN = 'https://flows.heddle.test';

/** Defines the tests of several pages of the Studio. */
export function definePageTests(getServeArgs: GetServeArgs): void {
  let providers: HookProviders;
  const studio = startStudio({
    getServeArgs,
    getExtraArgs: async (registerCleanup) => {
      providers = await startHookProviders();
      registerCleanup(() => void providers.close());
      return ['--origin', ORIGIN, '--service', `github=${providers.services.github}`];
    },
  });

  async function open(path: string): Promise<Page> {
    const page = await studio.context.newPage();
    onTestFinished(() => page.close());
    await page.goto(studio.url + path);
    return page;
  }

  it('shows the graphs of a draft and a version, and the fields of the block that the mouse or the keyboard selects', async () => {
    const workflowId = await studio.deploy('Orders', NESTED_WORKFLOW);
    await studio.call('PUT', `/api/v2/workflows/${workflowId}/state`, draftOf(ONE_STEP_WORKFLOW));
    const page = await open(`/workflows/${workflowId}`);
    const outline = page.getByRole('navigation', { name: 'Blocks' });
    const fields = page.getByRole('complementary', { name: 'Fields' });
    await page.getByLabel('Shown version').getByText('Version 1 (live)').waitFor({ state: 'attached' });
    await outline.getByRole('button', { name: 'Start, start trigger' }).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await fields.getByRole('heading', { name: 'Load orders' }).waitFor();
    await fields.getByRole('region', { name: 'code' }).getByText('console.log("loaded", 3)').waitFor();
    const graph = page.getByRole('region', { name: 'Graph' });
    expect(await graph.locator('.block-container').count()).toBe(2);
    await graph.getByText('Orders', { exact: true }).click();
    await fields.getByRole('region', { name: 'count' }).getByText('3', { exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get('block')).toMatch(/^Orders/);
    await page.getByLabel('Shown version').selectOption('Draft');
    await outline.getByRole('button', { name: 'Step, function' }).click();
    await fields.getByText('return 1').waitFor();
    await page.reload();
    await fields.getByText('return 1').waitFor();
    expect(await outline.getByRole('button').count()).toBe(2);
  });

  it('shows a tree of folders with keyboard navigation, filters workflows by folder, and creates, moves and deletes folders', async () => {
    const { workspaceId } = studio;
    const workflowId = await studio.deploy('In a folder', ONE_STEP_WORKFLOW);
    for (const path of ['/Ops', '/Ops/Nightly%20jobs'])
      await studio.call('POST', '/api/v2/workflows/folders', { workspaceId, path });
    await studio.call('PATCH', `/api/v2/workflows/${workflowId}`, { folderPath: '/Ops/Nightly%20jobs' });
    const page = await open('/workflows');
    const treeItem = (name: string) =>
      page.getByRole('tree', { name: 'Folders' }).getByRole('treeitem', { name });
    const list = page.getByRole('region', { name: 'List of workflows' });
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await list.getByRole('link', { name: 'In a folder' }).waitFor();
    await treeItem('All workflows').focus();
    await press('ArrowDown', 'ArrowDown');
    expect(await treeItem('Ops').getAttribute('aria-expanded')).toBe('false');
    await press('ArrowRight', 'ArrowRight', 'Enter');
    await page.getByRole('heading', { name: 'Ops / Nightly jobs' }).waitFor();
    await expect.poll(() => list.getByRole('row').count()).toBe(2);
    await list.getByRole('link', { name: 'In a folder' }).waitFor();
    expect(await treeItem('Nightly jobs').getAttribute('aria-selected')).toBe('true');

    await page.getByRole('button', { name: 'New folder' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Ünder');
    await press('Enter');
    await page.getByRole('heading', { name: 'Ops / Nightly jobs / Ünder' }).waitFor();
    await page.getByText('No workflow is in this folder').waitFor();
    await page.getByRole('button', { name: 'Rename or move' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Moved');
    await dialog.getByLabel('In').selectOption('No folder');
    await dialog.getByRole('button', { name: 'Rename or move' }).click();
    await page.getByRole('heading', { name: 'Moved', exact: true }).waitFor();

    await treeItem('All workflows').click();
    await page.getByLabel('Select In a folder').check();
    await page.getByRole('button', { name: 'Move workflows' }).click();
    await dialog.getByLabel('Folder').selectOption('Moved');
    await dialog.getByRole('button', { name: 'Move workflows' }).click();
    await list.getByRole('row', { name: 'In a folder' }).getByRole('cell', { name: 'Moved' }).waitFor();
    await treeItem('Moved').click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('alert').getByText('not empty').waitFor();
    await dialog.getByLabel('Even if it is not empty').check();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => treeItem('Moved').count()).toBe(0);
    await expect.poll(() => new URL(page.url()).search).toBe('');
    await expect.poll(() => list.getByRole('link', { name: 'In a folder' }).count()).toBe(0);
    await page.goto(`${studio.url}/workflows?folder=%2FOps%2FNightly%2520jobs`);
    await treeItem('Nightly jobs').waitFor();
    await page.getByText('No workflow is in this folder').waitFor();
  });

  /**
   * Changes the data of the first `count` responses for this resource of a run, as if they were read before its end.
   */
  async function changeFirstResponses(
    page: Page,
    resource: string,
    count: number,
    change: object | [],
  ): Promise<void> {
    let responseCount = 0;
    const isResourceUrl = (url: URL): boolean =>
      url.pathname.startsWith('/api/v2/logs/') && url.pathname.endsWith(`/${resource}`);
    await page.route(isResourceUrl, async (route) => {
      responseCount += 1;
      if (responseCount > count) return route.continue();
      const response = await route.fetch();
      const { data, ...body } = (await response.json()) as { data: object };
      const changedData = Array.isArray(change) ? change : { ...data, ...change };
      return route.fulfill({ response, json: { ...body, data: changedData } });
    });
  }

  it('shows all blocks of a run that ends while the page loads', async () => {
    const runId = await studio.run(await studio.deploy('Ends early', ONE_STEP_WORKFLOW));
    const page = await open('/runs');
    await changeFirstResponses(page, 'states', 1, { status: 'running', blocks: [] });
    await page.goto(`${studio.url}/runs/${runId}`);
    await page.locator('.run-title').getByText('Completed').waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Step, completed' }).count()).toBe(1);
  });

  it('shows all spans of a run whose end the overview shows first', async () => {
    const runId = await studio.run(await studio.deploy('Ends late', ONE_STEP_WORKFLOW));
    const page = await open('/runs');
    await changeFirstResponses(page, 'overview', 1, { status: 'running' });
    // The first two requests: when the timeline appears, and together with the request for the final overview.
    await changeFirstResponses(page, 'spans', 2, []);
    await page.goto(`${studio.url}/runs/${runId}?view=timeline`);
    await page.locator('.run-title').getByText('Completed').waitFor();
    await expect.poll(() => page.getByRole('list', { name: 'Spans' }).getByText('Step').count()).toBe(1);
  });

  it('starts a run inside an iteration, with a changed output of an earlier block', async () => {
    const body = [fn('Cost', 'return <loop.index>'), fn('Double', 'return <cost.result> * 2')];
    const definition = workflow(
      [loop('Each', { loopType: 'for', count: 3 }, ...body)],
      ['Start -> Each -> Cost -> Double'],
    );
    const runId = await studio.run(await studio.deploy('Costs', definition));
    const page = await open(`/runs/${runId}?pane=details`);
    await page.getByRole('button', { name: 'Each, completed' }).click();
    await page.getByRole('region', { name: 'Iterations' }).getByRole('button', { name: '#1' }).click();
    await page.getByRole('button', { name: 'Double, completed' }).click();
    await page.getByRole('button', { name: 'Run from here' }).click();
    const dialog = page.getByRole('dialog', { name: 'Start a run at Double?' });
    const choice = dialog.getByRole('combobox', { name: 'Start', exact: true });
    expect(await choice.locator('option').first().textContent()).toBe('In Each #1');
    expect(await choice.inputValue()).toBe('inside');
    await dialog.getByLabel('Change before it starts').selectOption('The output of Cost');
    await expect.poll(() => dialog.getByLabel('New value, as JSON').inputValue()).toContain('"result": 1');
    await dialog.getByLabel('New value, as JSON').fill('{"result": 21}');
    await dialog.getByRole('button', { name: 'Run from here' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(runId));
    await page.locator('.run-title').getByText('Completed').waitFor();
    const outputPath = `${new URL(page.url()).pathname.replace('/runs/', '/api/v2/logs/')}/value?part=output`;
    const { text } = await studio.call<{ text: string }>('GET', outputPath);
    expect(JSON.parse(text)).toMatchObject({
      results: [
        [{ result: 0 }, { result: 0 }],
        [{ result: 21 }, { result: 42 }],
        [{ result: 2 }, { result: 4 }],
      ],
    });
    await page.getByRole('button', { name: 'Each, completed' }).click();
    const iterations = page.getByRole('region', { name: 'Iterations' });
    await iterations.getByRole('button', { name: '#2' }).waitFor();
    expect(await iterations.getByRole('button', { name: '#0' }).count()).toBe(0);
  });

  it('shows the runs that a block has called, with a link back', async () => {
    const calledWorkflowId = await studio.deploy('Prices of a shop', ONE_STEP_WORKFLOW);
    const call = block('Call', 'workflow', { workflowId: calledWorkflowId });
    const runId = await studio.run(await studio.deploy('All shops', workflow([call], ['Start -> Call'])));
    const page = await open(`/runs/${runId}?pane=details`);
    await page.getByRole('button', { name: 'Call, completed' }).click();
    const details = page.getByRole('complementary', { name: 'Details' });
    await details.getByRole('heading', { name: 'Called runs' }).waitFor();
    await details.getByRole('listitem').getByText('Completed').waitFor();
    await details.getByRole('listitem').getByRole('link').click();
    await page.getByRole('heading', { name: 'Prices of a shop' }).waitFor();
    const [link] = await page.locator('.run-header .facts').getByRole('link').all();
    expect(await link?.getAttribute('title')).toBe(runId);
    await link?.click();
    await page.getByRole('heading', { name: 'All shops' }).waitFor();
  });

  it('shows credentials without their keys, and sandboxes with the states of their builds', async () => {
    const { workspaceId } = studio;
    const key = 'key-of-the-shop-in-a-test';
    await studio.call('POST', '/api/v2/credentials', {
      ...{ workspaceId, type: 'service_account', providerId: 'shop', displayName: 'Shop of Ada' },
      credentials: JSON.stringify({ apiToken: key }),
    });
    const sandbox = { workspaceId, language: 'javascript' };
    await studio.call('POST', '/api/v2/sandboxes', { ...sandbox, name: 'Plain' });
    const page = await open('/settings');
    const credentials = page.getByRole('region', { name: 'List of credentials' });
    await credentials
      .getByRole('row', { name: 'Shop of Ada' })
      .getByRole('cell', { name: 'shop', exact: true })
      .waitFor();
    expect(await page.content()).not.toContain(key);
    const sandboxes = page.getByRole('region', { name: 'List of sandboxes' });
    await sandboxes.getByRole('row', { name: 'Plain javascript' }).waitFor();
    // Builds take minutes, so the test changes the states in the response.
    await page.route('**/api/v2/sandboxes?*', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { data: object[] };
      const [firstSandbox] = body.data;
      const simulatedSandboxes = [
        { name: 'Building', buildStatus: 'building', dependencies: ['left-pad@1.3.0'], builtAt: null },
        {
          name: 'Broken',
          buildStatus: 'failed',
          errorMessage: `No package "${HOSTILE_TEXT}"`,
          builtAt: null,
        },
        { name: 'Ready', buildStatus: 'ready', builtAt: '2026-03-01T10:00:00.000Z', cliTools: ['jq'] },
      ];
      await route.fulfill({
        response,
        json: {
          ...body,
          data: simulatedSandboxes.map((simulatedSandbox) => ({ ...firstSandbox, ...simulatedSandbox })),
        },
      });
    });
    await page.reload();
    await sandboxes.getByRole('row', { name: 'Building javascript left-pad@1.3.0 building' }).waitFor();
    await sandboxes.getByRole('row', { name: 'Ready javascript jq ready Mar 1, 10:00:00' }).waitFor();
    const errorText = sandboxes.getByRole('row', { name: 'Broken' }).locator('.error-text');
    expect(await errorText.textContent()).toBe(`No package "${HOSTILE_TEXT}"`);
    expect(await page.title()).toBe('Heddle');
  });

  it('shows the webhook of a trigger at its provider, and the reason why another could not be created', async () => {
    const { workspaceId } = studio;
    const deployWebhook = async (name: 'github' | 'githubReadOnly'): Promise<Locator> => {
      const credentials = JSON.stringify({ apiToken: HOOK_CREDENTIALS[name] });
      const { id } = await studio.call<{ id: string }>('POST', '/api/v2/credentials', {
        ...{ workspaceId, type: 'service_account', providerId: 'github', displayName: name, credentials },
      });
      const fields = { triggerCredentials: id, owner: 'ada', repo: 'loom' };
      const workflowId = await studio.deploy(name, createWebhookWorkflow(fields, { type: 'github' }));
      const page = await open(`/workflows/${workflowId}`);
      return page.getByRole('region', { name: 'List of triggers' });
    };
    const activeTrigger = await deployWebhook('github');
    await activeTrigger.getByRole('columnheader', { name: 'Webhook at the provider' }).waitFor();
    // The page reads the table again after ten seconds if the webhook was still being created.
    await activeTrigger.getByRole('cell', { name: 'active', exact: true }).nth(1).waitFor();
    await activeTrigger.getByRole('cell', { name: 'no failure' }).waitFor();
    expect(providers.hooks).toMatchObject([{ resource: 'ada/loom', url: expect.stringContaining(ORIGIN) }]);

    const failedTrigger = await deployWebhook('githubReadOnly');
    const error = failedTrigger.getByRole('cell', { name: 'failed:' }).locator('.error-text');
    await error.waitFor();
    expect(await error.textContent()).toMatch(/not allowed to manage webhooks of ada\/loom at GitHub/);
    expect(await failedTrigger.page().content()).not.toContain(HOOK_CREDENTIALS.githubReadOnly);
    expect(providers.hooks).toHaveLength(1);
  });

  it('fits a window that is 390 pixels wide, in dark colours', { timeout: 60_000 }, async () => {
    const runId = await studio.run(await studio.deploy('Small window', NESTED_WORKFLOW));
    const page = await open('/runs');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 390, height: 844 });
    const overflows: string[] = [];
    for (const path of ['/runs', `/runs/${runId}?span=Summary`, '/workflows', '/dashboard', '/settings']) {
      await page.goto(studio.url + path);
      await page.locator('h1').waitFor();
      await expect.poll(() => page.locator('.loading').count()).toBe(0);
      const scrollWidth = await page.evaluate<number>('document.documentElement.scrollWidth');
      if (scrollWidth > 390) overflows.push(`${path}: ${scrollWidth}`);
      expect(await styleOf(page.locator('body'), 'background-color')).toBe('rgb(20, 22, 26)');
    }
    expect(overflows).toEqual([]);
  });
}

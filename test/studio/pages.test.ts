import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { draftOf } from '../support/draft.ts';
import { fn, loop, workflow } from '../support/workflow.ts';
import { chromiumTool, studio } from './setup.ts';
import { NESTED, ONE_STEP } from './workflows.ts';

describe.skipIf(!chromiumTool)('pages of the Studio', () => {
  const world = studio();

  async function open(path: string): Promise<Page> {
    const page = await world.context.newPage();
    onTestFinished(() => page.close());
    await page.goto(world.url + path);
    return page;
  }

  it('shows the graphs of a draft and of its versions, with the fields of a block, also by keys', async () => {
    const workflowId = await world.deployed('Orders', NESTED);
    await world.call('PUT', `/api/v2/workflows/${workflowId}/state`, draftOf(ONE_STEP));
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

  it('shows folders as a tree, filters by them, and creates, moves and deletes them, by keys', async () => {
    const { workspaceId } = world;
    const ops = await world.deployed('In a folder', ONE_STEP);
    for (const path of ['/Ops', '/Ops/Nightly%20jobs'])
      await world.call('POST', '/api/v2/workflows/folders', { workspaceId, path });
    await world.call('PATCH', `/api/v2/workflows/${ops}`, { folderPath: '/Ops/Nightly%20jobs' });
    const page = await open('/workflows');
    const item = (name: string) =>
      page.getByRole('tree', { name: 'Folders' }).getByRole('treeitem', { name });
    const list = page.getByRole('region', { name: 'List of workflows' });
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await list.getByRole('link', { name: 'In a folder' }).waitFor();
    await item('All workflows').focus();
    await press('ArrowDown', 'ArrowDown');
    expect(await item('Ops').getAttribute('aria-expanded')).toBe('false');
    await press('ArrowRight', 'ArrowRight', 'Enter');
    await page.getByRole('heading', { name: 'Ops / Nightly jobs' }).waitFor();
    await expect.poll(() => list.getByRole('row').count()).toBe(2);
    await list.getByRole('link', { name: 'In a folder' }).waitFor();
    expect(await item('Nightly jobs').getAttribute('aria-selected')).toBe('true');

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

    await item('All workflows').click();
    await page.getByLabel('Select In a folder').check();
    await page.getByRole('button', { name: 'Move workflows' }).click();
    await dialog.getByLabel('Folder').selectOption('Moved');
    await dialog.getByRole('button', { name: 'Move workflows' }).click();
    await list.getByRole('row', { name: 'In a folder' }).getByRole('cell', { name: 'Moved' }).waitFor();
    await item('Moved').click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('alert').getByText('not empty').waitFor();
    await dialog.getByLabel('Also if it is not empty').check();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => item('Moved').count()).toBe(0);
    await expect.poll(() => new URL(page.url()).search).toBe('');
    await expect.poll(() => list.getByRole('link', { name: 'In a folder' }).count()).toBe(0);
    await page.goto(`${world.url}/workflows?folder=%2FOps%2FNightly%2520jobs`);
    await item('Nightly jobs').waitFor();
    await page.getByText('No workflow is in this folder').waitFor();
  });

  it('starts a run inside an iteration, with a changed output before the block', async () => {
    const body = [fn('Cost', 'return <loop.index>'), fn('Double', 'return <cost.result> * 2')];
    const source = workflow(
      [loop('Each', { loopType: 'for', count: 3 }, ...body)],
      ['Start -> Each -> Cost -> Double'],
    );
    const runId = await world.run(await world.deployed('Costs', source));
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
    const output = `${new URL(page.url()).pathname.replace('/runs/', '/api/v2/logs/')}/value?part=output`;
    const { text } = await world.call<{ text: string }>('GET', output);
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
});

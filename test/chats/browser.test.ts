import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumTool, startBrowser } from '../support/browser.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { draftOf } from '../support/draft.ts';
import { startHeddleServe } from '../support/heddle.ts';
import { block, fn, workflow } from '../support/workflow.ts';

const HOSTILE_HTML = '<img src=x onerror="document.title=1"> & <b>bold</b>';

const FIELDS = [
  { name: 'city', type: 'string', label: 'Your city', required: true },
  { name: 'papers', type: 'file[]' },
];
const ECHO_WORKFLOW = workflow(
  [
    block('Start', 'start_trigger', { inputFormat: FIELDS }),
    fn(
      'F',
      'return {content: `You said: ${<start.input> ?? <start.city>} <b>${(<start.papers> ?? []).length}</b>`}',
    ),
  ],
  ['Start -> F'],
);

const APPROVAL_WORKFLOW = workflow(
  [
    block('Start', 'start_trigger', {}),
    block('Approve the order', 'human_in_the_loop', {
      builderData: [
        { id: 'a', name: 'order', type: 'string', value: '<start.text>' },
        { id: 'b', name: 'lines', type: 'array', value: '[{"item": "yarn", "count": 3}]' },
      ],
      inputFormat: [
        { id: 'c', name: 'approved', type: 'boolean' },
        { id: 'd', name: 'amount', type: 'number', label: 'Amount in euros', required: true },
        { id: 'e', name: 'reason', type: 'string', description: 'Why, in a sentence.' },
      ],
    }),
  ],
  ['Start -> Approve the order'],
);

describe.skipIf(!chromiumTool)('the pages of a workflow in a browser', () => {
  const browserErrors: string[] = [];
  const cleanups: (() => unknown)[] = [];
  let url = '';
  let browser: Browser;
  /** Starts a run that waits for a person. Returns the URL of its page and a function that reads its status. */
  let startPausedRun: () => Promise<{ pageUrl: string; readStatus: () => Promise<string> }>;

  beforeAll(async () => {
    const registerCleanup = (stop: () => void): void => void cleanups.push(stop);
    const server = await startHeddleServe(['--data', createDataFolder(registerCleanup)], { registerCleanup });
    ({ url } = server);
    const headers = { 'X-API-Key': server.key, 'Content-Type': 'application/json' };
    const call = async (method: string, path: string, body: unknown): Promise<{ id: string }> => {
      const response = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
      const result = (await response.json()) as { data: { id: string } };
      if (!response.ok) throw new Error(JSON.stringify(result));
      return result.data;
    };
    const { workspaceId } = server;
    const { id } = await call('POST', '/api/v2/workflows', { workspaceId, name: 'Support' });
    await call('PUT', `/api/v2/workflows/${id}/state`, draftOf(ECHO_WORKFLOW));
    await call('POST', `/api/v2/workflows/${id}/deploy`, {});
    await call('PUT', `/api/v2/workflows/${id}/deployments/chat`, {
      ...{ identifier: 'support', title: 'Support', pages: ['chat', 'form'] },
      ...{ outputs: ['F.result.content'], authType: 'password', password: 'open sesame' },
    });
    const approval = await call('POST', '/api/v2/workflows', { workspaceId, name: 'Orders' });
    await call('PUT', `/api/v2/workflows/${approval.id}/state`, draftOf(APPROVAL_WORKFLOW));
    await call('POST', `/api/v2/workflows/${approval.id}/deploy`, {});
    startPausedRun = async () => {
      const executeUrl = `${url}/api/v2/workflows/${approval.id}/execute`;
      const body = JSON.stringify({ input: { text: HOSTILE_HTML } });
      const response = await fetch(executeUrl, { method: 'POST', headers, body });
      const result = (await response.json()) as { data: { runId: string; output: { url: string } } };
      if (!response.ok) throw new Error(JSON.stringify(result));
      const { data } = result;
      const readStatus = async (): Promise<string> => {
        const response = await fetch(`${url}/api/v2/workflows/${approval.id}/runs/${data.runId}`, {
          headers,
        });
        return ((await response.json()) as { data: { status: string } }).data.status;
      };
      return { pageUrl: data.output.url, readStatus };
    };
    browser = await startBrowser();
    cleanups.push(() => browser.close());
  });
  afterAll(async () => {
    for (const stop of cleanups.toReversed()) await stop();
  });

  async function enterPage(path: string): Promise<Page> {
    const page = await (await browser.newContext({ viewport: { width: 700, height: 640 } })).newPage();
    page.on('pageerror', (error) => browserErrors.push(error.message));
    page.on('console', (message) => message.type() === 'error' && browserErrors.push(message.text()));
    await page.goto(url + path);
    await page.getByLabel('Password').fill('open sesame');
    await page.getByRole('button', { name: 'Continue' }).click();
    return page;
  }

  it('send chat messages by keyboard and button, and show answers as text', async () => {
    const page = await enterPage('/chat/support');
    const messageField = page.getByLabel('Message', { exact: true });
    await messageField.fill('Where is my order?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('You said: Where is my order? <b>0</b>').waitFor();
    await messageField.fill('And now?');
    await messageField.press('Enter');
    await page.getByText('You said: And now? <b>0</b>').waitFor();
    expect(await page.getByRole('log').getByRole('listitem').count()).toBe(4);
  });

  it('send the fields and files of a form', async () => {
    const page = await enterPage('/form/support');
    await page.getByLabel('Your city').fill('Oslo');
    const file = { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('hi') };
    await page.getByLabel('papers').setInputFiles(file);
    await page.getByRole('button', { name: 'Send' }).click();
    const answer = page.getByText('You said: Oslo <b>1</b>');
    await answer.waitFor();
    expect(await answer.count()).toBe(1);
  });

  it('show hostile context of a pause as text, and accept one answer', async () => {
    const { pageUrl, readStatus } = await startPausedRun();
    const page = await (await browser.newContext()).newPage();
    page.on('pageerror', (error) => browserErrors.push(error.message));
    await page.goto(pageUrl);
    await page.getByRole('heading', { name: 'Approve the order' }).waitFor();
    await page.getByText(HOSTILE_HTML).waitFor();
    expect(await page.locator('img, b').count()).toBe(0);
    await page.getByRole('button', { name: 'Answer' }).click();
    expect(await readStatus()).toBe('paused');
    await page.getByLabel('Amount in euros').fill('12.5');
    await page.getByLabel('approved').check();
    await page.getByRole('button', { name: 'Answer' }).press('Enter');
    await page.getByText('Thank you. The answer was accepted.').waitFor();
    expect(await page.getByRole('button', { name: 'Answer' }).isVisible()).toBe(false);
    await expect.poll(readStatus).toBe('completed');
    const secondVisit = await page.goto(pageUrl);
    expect(secondVisit?.status()).toBe(404);
    await page.getByText('was answered').waitFor();
  });

  it.each(['light', 'dark'] as const)(
    'have no axe violations in %s, and fit a width of 320 pixels',
    async (colorScheme) => {
      // The content security policy of the pages does not allow the script of axe.
      const context = await browser.newContext({
        colorScheme,
        bypassCSP: true,
        viewport: { width: 320, height: 600 },
      });
      await context.addInitScript({ content: axe.source });
      const page = await context.newPage();
      const problems: string[] = [];
      const checkPage = async (name: string): Promise<void> => {
        const { violations } = await page.evaluate(() =>
          (globalThis as unknown as { axe: typeof axe }).axe.run({ resultTypes: ['violations'] }),
        );
        problems.push(
          ...violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${name}: ${id}: ${html}`)),
        );
        const width = await page.evaluate('document.documentElement.scrollWidth');
        if (Number(width) > 320) problems.push(`${name} is ${String(width)} pixels wide`);
        const folder = process.env['HEDDLE_SCREENSHOTS'];
        if (folder !== undefined)
          await page.screenshot({ path: `${folder}/${name}-${colorScheme}.png`, fullPage: true });
      };
      for (const name of ['chat', 'form']) {
        await page.goto(`${url}/${name}/support`);
        if (name === 'chat') {
          await checkPage('password');
          await page.getByLabel('Password').fill('wrong');
          await page.getByRole('button', { name: 'Continue' }).click();
          await page.getByText('The password is wrong').waitFor();
          await checkPage('wrong password');
        }
        await page.getByLabel('Password').fill('open sesame');
        await page.getByRole('button', { name: 'Continue' }).click();
        await page.getByRole('button', { name: 'Send' }).waitFor();
        await checkPage(name);
        if (name === 'chat') {
          await page.getByLabel('Message', { exact: true }).fill(`A long word: ${'w'.repeat(200)}`);
          await page.getByRole('button', { name: 'Send' }).click();
          await page.getByText('You said: A long').waitFor();
          await checkPage('answered chat');
        } else {
          await page.getByLabel('Your city').fill('Oslo');
          await page.getByRole('button', { name: 'Send' }).click();
          await page.getByText('You said: Oslo').waitFor();
          await checkPage('answered form');
        }
      }
      await page.goto((await startPausedRun()).pageUrl);
      await checkPage('resume');
      await page.getByLabel('Amount in euros').fill('1');
      await page.getByRole('button', { name: 'Answer' }).click();
      await page.getByText('Thank you').waitFor();
      await checkPage('answered');
      await page.goto(`${url}/resume/a/b/c`);
      await checkPage('nothing to answer');
      expect(problems).toEqual([]);
      await context.close();
    },
  );

  it('have no errors, and do not violate their content security policy', () => {
    expect(browserErrors).toEqual([]);
  });
});

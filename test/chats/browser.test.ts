import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { draftOf } from '../support/draft.ts';
import { startServe } from '../support/heddle.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { requireTool } from '../tools/fetch.ts';

const tool = requireTool('chromium');

const FIELDS = [
  { name: 'city', type: 'string', label: 'Your city', required: true },
  { name: 'papers', type: 'file[]' },
];
const ECHO = workflow(
  [
    block('Start', 'start_trigger', { inputFormat: FIELDS }),
    fn(
      'F',
      'return {content: `You said: ${<start.input> ?? <start.city>} <b>${(<start.papers> ?? []).length}</b>`}',
    ),
  ],
  ['Start -> F'],
);

describe.skipIf(!tool)('the pages of a workflow in a browser', () => {
  const faults: string[] = [];
  const stops: (() => unknown)[] = [];
  let url = '';
  let browser: Browser;

  beforeAll(async () => {
    const whenDone = (stop: () => void): void => void stops.push(stop);
    const served = await startServe(['--data', dataFolder(whenDone)], { whenDone });
    ({ url } = served);
    const headers = { 'X-API-Key': served.key, 'Content-Type': 'application/json' };
    const call = async (method: string, path: string, body: unknown): Promise<{ id: string }> => {
      const response = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
      const answer = (await response.json()) as { data: { id: string } };
      if (!response.ok) throw new Error(JSON.stringify(answer));
      return answer.data;
    };
    const { workspaceId } = served;
    const { id } = await call('POST', '/api/v2/workflows', { workspaceId, name: 'Support' });
    await call('PUT', `/api/v2/workflows/${id}/state`, draftOf(ECHO));
    await call('POST', `/api/v2/workflows/${id}/deploy`, {});
    await call('PUT', `/api/v2/workflows/${id}/deployments/chat`, {
      ...{ identifier: 'support', title: 'Support', pages: ['chat', 'form'] },
      ...{ outputs: ['F.result.content'], authType: 'password', password: 'open sesame' },
    });
    browser = await chromium.launch({
      ...(tool && { executablePath: tool.path, env: tool.env as { [name: string]: string } }),
      args: ['--no-sandbox'],
    });
    stops.push(() => browser.close());
  });
  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop();
  });

  async function entered(path: string): Promise<Page> {
    const page = await (await browser.newContext({ viewport: { width: 700, height: 640 } })).newPage();
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    await page.goto(url + path);
    await page.getByLabel('Password').fill('open sesame');
    await page.getByRole('button', { name: 'Continue' }).click();
    return page;
  }

  it('a chat sends messages by keyboard and button, and shows answers as text', async () => {
    const page = await entered('/chat/support');
    const message = page.getByLabel('Message', { exact: true });
    await message.fill('Where is my order?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('You said: Where is my order? <b>0</b>').waitFor();
    await message.fill('And now?');
    await message.press('Enter');
    await page.getByText('You said: And now? <b>0</b>').waitFor();
    expect(await page.getByRole('log').getByRole('listitem').count()).toBe(4);
  });

  it('a form sends its fields and files', async () => {
    const page = await entered('/form/support');
    await page.getByLabel('Your city').fill('Oslo');
    const files = { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('hi') };
    await page.getByLabel('papers').setInputFiles(files);
    await page.getByRole('button', { name: 'Send' }).click();
    const answer = page.getByText('You said: Oslo <b>1</b>');
    await answer.waitFor();
    expect(await answer.count()).toBe(1);
  });

  it('have no errors, and break no rule of their policy', () => {
    expect(faults).toEqual([]);
  });
});

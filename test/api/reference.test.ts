import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { testApi } from '../support/api.ts';
import { chromiumTool, startBrowser } from '../support/browser.ts';
import { drawnTests } from '../support/scale.ts';

const { api } = await testApi();
const listener = getRequestListener(api.fetch, { overrideGlobalObjects: false });
const server = createServer((request, response) => void listener(request, response));
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve);
});
afterAll(() => server.close().closeAllConnections());
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Returns `get /path` for each operation. */
async function described(): Promise<string[]> {
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as { paths: object };
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method} ${path}`),
  );
}

/** Opens the page in a window of this size. Returns it with its errors. */
async function opened(started: Browser, viewport: { width: number; height: number }) {
  const page = await started.newPage({ viewport });
  const asked: string[] = [];
  const faults: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  await page.goto(`${origin}/docs`);
  await page.waitForSelector('.opblock');
  return { page, asked, faults };
}

describe.skipIf(!chromiumTool)('the page at /docs', { timeout: 120_000 }, () => {
  const drawn = drawnTests(1 / 2, 'tests of the page at /docs');
  let started: Browser;

  beforeAll(async () => {
    started = await startBrowser();
  }, 120_000);

  afterAll(() => started.close());

  drawn('lists every operation, and loads nothing from other servers', async () => {
    const { page, asked, faults } = await opened(started, { width: 1280, height: 900 });
    const shown = await page.locator('.opblock-summary').evaluateAll((all) =>
      all.map((one) => {
        const text = (selector: string): string => one.querySelector(selector)?.textContent ?? '';
        const path = text('.opblock-summary-path').replaceAll('\u200b', '');
        return `${text('.opblock-summary-method').toLowerCase()} ${path}`;
      }),
    );
    expect(shown.length).toBeGreaterThan(16);
    expect(shown.toSorted()).toEqual((await described()).toSorted());
    await page.locator('.opblock-summary').first().click();
    await page.waitForSelector('.opblock-body');
    expect(asked.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))).toEqual([]);
    expect(asked).toContain(`${origin}/openapi.json`);
    expect(faults).toEqual([]);
  });

  drawn('fits a phone, even with operations of every kind opened', async () => {
    const { page, faults } = await opened(started, { width: 390, height: 844 });
    const width = (): Promise<number> => page.locator('html').evaluate(({ scrollWidth }) => scrollWidth);
    expect(await width()).toBe(390);
    for (const path of ['/api/v2/workflows/{workflowId}/execute', '/api/v2/workflows/{workflowId}/state']) {
      const summary = page.locator(`.opblock-summary:has([data-path="${path}"])`).last();
      await summary.click();
    }
    await expect.poll(() => page.locator('.opblock-body .response').count()).toBeGreaterThan(12);
    expect(await width()).toBe(390);
    const texts = await page
      .locator('.opblock-body .response-col_description')
      .evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().width));
    expect(Math.min(...texts)).toBeGreaterThan(200);
    expect(faults).toEqual([]);
  });
});

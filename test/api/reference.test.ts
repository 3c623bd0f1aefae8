import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { createTestApi } from '../support/api.ts';
import { chromiumTool, startBrowser } from '../support/browser.ts';
import { sampledTests } from '../support/scale.ts';

const { api } = await createTestApi();
const listener = getRequestListener(api.fetch, { overrideGlobalObjects: false });
const server = createServer((request, response) => void listener(request, response));
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve);
});
afterAll(() => server.close().closeAllConnections());
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Returns `get /path` for each operation. */
async function readDocumentedOperations(): Promise<string[]> {
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as { paths: object };
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method} ${path}`),
  );
}

/** Opens the page in a window of this size. Returns the page, the URLs that it requests, and its errors. */
async function openPage(browser: Browser, viewport: { width: number; height: number }) {
  const page = await browser.newPage({ viewport });
  const urls: string[] = [];
  const errors: string[] = [];
  page.on('request', (request) => urls.push(request.url()));
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.goto(`${origin}/docs`);
  await page.waitForSelector('.opblock');
  return { page, urls, errors };
}

describe.skipIf(!chromiumTool)('the page at /docs', { timeout: 120_000 }, () => {
  const sampledIt = sampledTests(1 / 2, 'tests of the page at /docs');
  let browser: Browser;

  beforeAll(async () => {
    browser = await startBrowser();
  }, 120_000);

  afterAll(() => browser.close());

  sampledIt('lists every operation, and loads nothing from other servers', async () => {
    const { page, urls, errors } = await openPage(browser, { width: 1280, height: 900 });
    const listedOperations = await page.locator('.opblock-summary').evaluateAll((elements) =>
      elements.map((element) => {
        const textOf = (selector: string): string => element.querySelector(selector)?.textContent ?? '';
        const path = textOf('.opblock-summary-path').replaceAll('\u200b', '');
        return `${textOf('.opblock-summary-method').toLowerCase()} ${path}`;
      }),
    );
    expect(listedOperations.length).toBeGreaterThan(16);
    expect(listedOperations.toSorted()).toEqual((await readDocumentedOperations()).toSorted());
    await page.locator('.opblock-summary').first().click();
    await page.waitForSelector('.opblock-body');
    expect(urls.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))).toEqual([]);
    expect(urls).toContain(`${origin}/openapi.json`);
    expect(errors).toEqual([]);
  });

  sampledIt('fits the width of a phone, even with expanded operations', async () => {
    const { page, errors } = await openPage(browser, { width: 390, height: 844 });
    const readWidth = (): Promise<number> => page.locator('html').evaluate(({ scrollWidth }) => scrollWidth);
    expect(await readWidth()).toBe(390);
    for (const path of ['/api/v2/workflows/{workflowId}/execute', '/api/v2/workflows/{workflowId}/state']) {
      const summary = page.locator(`.opblock-summary:has([data-path="${path}"])`).last();
      await summary.click();
    }
    await expect.poll(() => page.locator('.opblock-body .response').count()).toBeGreaterThan(12);
    expect(await readWidth()).toBe(390);
    const descriptionWidths = await page
      .locator('.opblock-body .response-col_description')
      .evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().width));
    expect(Math.min(...descriptionWidths)).toBeGreaterThan(200);
    expect(errors).toEqual([]);
  });
});

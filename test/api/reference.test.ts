import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { chromium } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { testApi } from '../support/api.ts';
import { requireTool } from '../tools/fetch.ts';

const browser = requireTool('chromium');
const { api } = await testApi();
const listener = getRequestListener(api.fetch, { overrideGlobalObjects: false });
const server = createServer((request, response) => void listener(request, response));
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve);
});
afterAll(() => server.close().closeAllConnections());
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** `get /path` of each operation. */
async function described(): Promise<string[]> {
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as { paths: object };
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method} ${path}`),
  );
}

describe.skipIf(!browser)('the page at /docs', { timeout: 120_000 }, () => {
  it('lists every operation, and asks nobody outside for anything', async () => {
    const started = await chromium.launch({
      executablePath: browser?.path ?? '',
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
    try {
      const page = await started.newPage();
      const asked: string[] = [];
      const faults: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      page.on('pageerror', (error) => faults.push(error.message));
      page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
      await page.goto(`${origin}/docs`);
      await page.waitForSelector('.opblock');
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
    } finally {
      await started.close();
    }
  });
});

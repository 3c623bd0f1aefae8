import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { block, fn, loop, parallel, workflow } from '../support/workflow.ts';
import { chromiumTool } from '../support/browser.ts';
import { startStudio } from './setup.ts';
import { REFUND_APPROVAL_WORKFLOW, createHourlyWorkflow } from './workflows.ts';

/** The folder for the screenshots in docs/studio.md. If it is undefined, no screenshots are taken. */
const screenshotFolder = process.env['HEDDLE_SCREENSHOTS'];

const PRICES_WORKFLOW = workflow(
  [
    fn(
      'Load orders',
      'console.log("3 orders"); return [{ id: 1, price: 40 }, { id: 2, price: 15 }, { id: 3, price: 28 }]',
    ),
    parallel(
      'Regions',
      { parallelType: 'count', count: 3 },
      loop(
        'Orders',
        { loopType: 'for', count: 4 },
        fn(
          'Price',
          'await new Promise((r) => setTimeout(r, 20 + 30 * <loop.index>)); if (<loop.index> === 3) throw new Error("no price for this order"); return { price: <loop.index> * 10 }',
        ),
        fn('Use list price', 'return { price: 19 }'),
      ),
    ),
    fn(
      'Total',
      'await new Promise((r) => setTimeout(r, 60)); return { total: 483, currency: "EUR", orders: 12 }',
    ),
    block('Answer', 'response', { dataMode: 'json', data: '{"total": <total.result>}', status: '200' }),
  ],
  [
    'Start -> Load orders -> Regions -> Total -> Answer',
    'Regions -> Orders',
    'Orders -> Price',
    'Price:error -> Use list price',
  ],
);
const IMPORT_WORKFLOW = workflow(
  [
    fn('Read file', 'return { rows: 120 }'),
    fn('Check rows', 'const row = 17;\nthrow new Error(`Row ${row} has no customer.`);'),
    fn('Store rows', 'return "stored"'),
  ],
  ['Start -> Read file -> Check rows -> Store rows'],
);

describe.skipIf(!chromiumTool || !screenshotFolder)('the screenshots of the documentation', () => {
  const studio = startStudio();
  const paths: { [name: string]: string } = {};

  beforeAll(async () => {
    const pricesId = await studio.deploy('Nightly order prices', PRICES_WORKFLOW);
    const importId = await studio.deploy('Customer import', IMPORT_WORKFLOW);
    const refundsId = await studio.deploy('Refunds', REFUND_APPROVAL_WORKFLOW);
    const reportsId = await studio.deploy('Weekly report', createHourlyWorkflow('return "sent"'));
    await studio.redeploy(pricesId, await studio.call<object>('GET', `/api/v2/workflows/${pricesId}/state`));
    for (let count = 0; count < 6; count += 1) {
      await studio.run(pricesId);
      if (count % 2 === 0) await studio.run(importId);
      if (count % 3 === 0) await studio.run(refundsId);
    }
    const runId = await studio.run(pricesId);
    const { workspaceId } = studio;
    for (const name of ['SHOP_KEY', 'SMTP_PASSWORD'])
      await studio.call('PUT', `/api/v2/secrets/${name}`, {
        workspaceId,
        scope: 'workspace',
        value: 'not shown',
      });
    await studio.call('POST', `/api/v2/workspaces/${workspaceId}/api-keys`, { name: 'Deploys' });
    Object.assign(paths, {
      ...{ runs: '/runs', run: `/runs/${runId}`, timeline: `/runs/${runId}?view=timeline` },
      ...{ workflow: `/workflows/${reportsId}`, dashboard: '/dashboard', settings: '/settings' },
    });
  });

  /** Returns a PNG image as WebP, which is half as large. The browser converts it. */
  async function toWebp(png: Buffer): Promise<Buffer> {
    const page = await studio.browser.newPage();
    const base64 = await page.evaluate<string>(`(async () => {
      const bytes = Uint8Array.fromBase64('${png.toString('base64')}');
      const image = await createImageBitmap(new Blob([bytes]));
      const canvas = new OffscreenCanvas(image.width, image.height);
      canvas.getContext('2d').drawImage(image, 0, 0);
      const blob = await canvas.convertToBlob({ type: 'image/webp', quality: 0.8 });
      return new Uint8Array(await blob.arrayBuffer()).toBase64();
    })()`);
    await page.close();
    return Buffer.from(base64, 'base64');
  }

  it('show six pages, each in light and in dark colours', { timeout: 300_000 }, async () => {
    mkdirSync(screenshotFolder ?? '', { recursive: true });
    const page = await studio.context.newPage();
    await page.setViewportSize({ width: 1280, height: 720 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const [name, path] of Object.entries(paths)) {
        await page.goto(studio.url + path);
        await page.locator('h1').first().waitFor();
        await expect.poll(() => page.locator('.loading').count()).toBe(0);
        if (name === 'run') await page.getByRole('button', { name: 'Total, completed' }).click();
        await expect.poll(() => page.locator('.loading').count()).toBe(0);
        const screenshot = await toWebp(await page.screenshot());
        // Every clone of the repository downloads the screenshots.
        expect(screenshot.length).toBeLessThan(60_000);
        writeFileSync(join(screenshotFolder ?? '', `${name}-${colorScheme}.webp`), screenshot);
        expect(await page.getByRole('alert').count()).toBe(0);
      }
    }
    expect(Object.keys(paths)).toHaveLength(6);
  });
});

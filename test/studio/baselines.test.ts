import { existsSync, mkdtempSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { studioPages } from '../../packages/studio/src/pages.ts';
import { chromiumTool, startBrowser } from '../support/browser.ts';
import { reportSkipped } from '../support/scale.ts';
import { RESPONSES, SHOWN_FOLDER, NOW, RUN_ID } from './baselines/responses.ts';
import {
  FOLDER,
  SYSTEM_FILE,
  compress,
  countDifferingPixels,
  findSystemMismatch,
  readSystem,
} from './baselines/compare.ts';

/** True if the baselines are created again instead of compared. */
const isUpdating = process.env['HEDDLE_BASELINES'] === 'make';

/** Maximum number of different pixels. A changed status mark differs in more pixels. */
const TOLERANCE = 20;
/** Maximum size of all baselines together. Every clone of the repository downloads them. */
const MAX_BYTES = 150_000;

type ColourScheme = 'light' | 'dark';

interface Component {
  name: string;
  path: string;
  colours: readonly ColourScheme[];
  locate: (page: Page) => Locator;
}

const BOTH_SCHEMES = ['light', 'dark'] as const;

const COMPONENTS: readonly Component[] = [
  {
    name: 'runs',
    path: '/runs',
    colours: BOTH_SCHEMES,
    locate: (page) => page.getByRole('table', { name: 'Runs' }),
  },
  {
    ...{ name: 'timeline', path: `/runs/${RUN_ID}?view=timeline`, colours: BOTH_SCHEMES },
    locate: (page) => page.locator('.timeline'),
  },
  {
    ...{ name: 'graph', path: `/runs/${RUN_ID}`, colours: BOTH_SCHEMES },
    locate: (page) => page.getByRole('region', { name: 'Graph' }),
  },
  {
    ...{ name: 'pause', path: `/runs/${RUN_ID}`, colours: BOTH_SCHEMES },
    locate: (page) => page.getByRole('region', { name: 'Waiting' }),
  },
  { name: 'value', path: `/runs/${RUN_ID}`, colours: ['light'], locate: (page) => page.locator('.value') },
  {
    ...{ name: 'folders', path: `/workflows?folder=${encodeURIComponent(SHOWN_FOLDER)}`, colours: ['light'] },
    locate: (page) => page.locator('.folder-tree'),
  },
  {
    ...{ name: 'triggers', path: '/workflows/workflow-1', colours: ['light'] },
    locate: (page) => page.getByRole('region', { name: 'List of triggers' }),
  },
];

const ORIGIN = 'http://localhost';

describe.skipIf(!chromiumTool)('components of the Studio', () => {
  const pages = studioPages();
  const unknownPaths = new Set<string>();
  const pageErrors: string[] = [];
  let browser: Browser;
  let skipReason: string | undefined;

  beforeAll(async () => {
    browser = await startBrowser();
    const page = await openPage({ path: '/runs', colours: 'light' });
    await page.getByRole('row').getByText('Paused').waitFor();
    const system = await readSystem(browser, page);
    await page.context().close();
    if (isUpdating) writeFileSync(SYSTEM_FILE, `${JSON.stringify(system, null, 2)}\n`);
    skipReason = findSystemMismatch(system);
  });
  reportSkipped(() => skipReason);
  afterAll(() => browser.close());

  /** Opens a page with fixed responses, at a fixed time, in a fixed time zone and language. */
  async function openPage({ path, colours }: { path: string; colours: ColourScheme }): Promise<Page> {
    const context = await browser.newContext({
      ...{ viewport: { width: 1010, height: 540 }, timezoneId: 'UTC', locale: 'en-US' },
      ...{ colorScheme: colours, reducedMotion: 'reduce' },
    });
    await context.route('**/*', async (route) => {
      const url = route.request().url();
      const { pathname } = new URL(url);
      const file = await pages(new Request(url));
      if (file) {
        const body = Buffer.from(await file.arrayBuffer());
        return route.fulfill({ status: file.status, headers: Object.fromEntries(file.headers), body });
      }
      if (pathname.endsWith('/events'))
        return route.fulfill({ contentType: 'text/event-stream', body: 'data: "[DONE]"\n\n' });
      if (Object.hasOwn(RESPONSES, pathname)) return route.fulfill({ json: RESPONSES[pathname] });
      unknownPaths.add(pathname);
      return route.fulfill({ status: 404, json: {} });
    });
    const page = await context.newPage();
    page.on('pageerror', ({ message }) => pageErrors.push(message));
    await page.clock.setFixedTime(NOW);
    await page.goto(ORIGIN + path);
    return page;
  }

  /** Returns a screenshot of an element of the page as soon as two successive screenshots are equal. */
  async function takeScreenshot(locator: Locator): Promise<Buffer> {
    await locator.waitFor();
    await expect.poll(() => locator.page().locator('.loading').count()).toBe(0);
    let lastScreenshot = await locator.screenshot({ animations: 'disabled' });
    await expect
      .poll(async () => {
        const previousScreenshot = lastScreenshot;
        lastScreenshot = await locator.screenshot({ animations: 'disabled' });
        return lastScreenshot.equals(previousScreenshot);
      })
      .toBe(true);
    return lastScreenshot;
  }

  for (const { name, path, colours, locate } of COMPONENTS)
    for (const colourScheme of colours)
      it(`look the same as their baseline: ${name}, ${colourScheme}`, async ({ skip }) => {
        skip(skipReason !== undefined, skipReason);
        const page = await openPage({ path, colours: colourScheme });
        onTestFinished(() => page.context().close());
        const currentScreenshot = await takeScreenshot(locate(page));
        const file = join(FOLDER, `${name}-${colourScheme}.png`);
        if (isUpdating) writeFileSync(file, compress(currentScreenshot));
        expect(existsSync(file), `${file} does not exist`).toBe(true);
        const difference = countDifferingPixels(readFileSync(file), currentScreenshot) ?? Infinity;
        if (difference <= TOLERANCE) return;
        const currentFile = join(
          mkdtempSync(join(tmpdir(), 'heddle-baseline-')),
          `${name}-${colourScheme}.png`,
        );
        writeFileSync(currentFile, currentScreenshot);
        expect.fail(`${difference} pixels differ from ${file}. The current image is ${currentFile}.`);
      });

  it('look different after the status of one run or the width has changed', async () => {
    const page = await openPage({ path: '/runs', colours: 'light' });
    onTestFinished(() => page.context().close());
    const table = page.getByRole('table', { name: 'Runs' });
    const originalScreenshot = await takeScreenshot(table);
    expect(countDifferingPixels(originalScreenshot, await takeScreenshot(table))).toBe(0);
    const mark = page.locator('.status[data-status=completed]');
    await mark.evaluate((node) => node.setAttribute('data-status', 'cancelled'));
    expect(countDifferingPixels(originalScreenshot, await takeScreenshot(table))).toBeGreaterThan(TOLERANCE);
    await page.setViewportSize({ width: 900, height: 560 });
    expect(countDifferingPixels(originalScreenshot, await takeScreenshot(table))).toBeUndefined();
  });

  it('send only requests that have a fixed response, and have no errors', () => {
    expect([...unknownPaths]).toEqual([]);
    expect(pageErrors).toEqual([]);
  });

  it('have small images, one for each component and colour scheme', () => {
    const images = readdirSync(FOLDER).filter((file) => file.endsWith('.png'));
    const expected = COMPONENTS.flatMap(({ name, colours }) =>
      colours.map((colour) => `${name}-${colour}.png`),
    );
    expect(images.toSorted()).toEqual(expected.toSorted());
    const totalBytes = images.reduce((sum, file) => sum + statSync(join(FOLDER, file)).size, 0);
    expect(totalBytes).toBeLessThan(MAX_BYTES);
  });
});

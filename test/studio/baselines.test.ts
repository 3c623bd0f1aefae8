import { existsSync, mkdtempSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { studioPages } from '../../packages/studio/src/pages.ts';
import { chromiumTool, startBrowser } from '../support/browser.ts';
import { leftOut } from '../support/scale.ts';
import { ANSWERS, FOLDER as SHOWN_FOLDER, NOW, RUN } from './baselines/answers.ts';
import {
  FOLDER,
  SYSTEM_FILE,
  compressed,
  differingPixels,
  otherSystem,
  systemOf,
} from './baselines/compare.ts';

/** True if the images are made again. */
const isMaking = process.env['HEDDLE_BASELINES'] === 'make';

/** Maximum number of different pixels. The mark of a state has more. */
const TOLERANCE = 20;
/** Maximum size of all images, which every clone of the repository downloads. */
const MOST_BYTES = 150_000;

type Colours = 'light' | 'dark';

interface Component {
  name: string;
  path: string;
  colours: readonly Colours[];
  locate: (page: Page) => Locator;
}

const BOTH = ['light', 'dark'] as const;

const COMPONENTS: readonly Component[] = [
  { name: 'runs', path: '/runs', colours: BOTH, locate: (page) => page.getByRole('table', { name: 'Runs' }) },
  {
    ...{ name: 'timeline', path: `/runs/${RUN}?view=timeline`, colours: BOTH },
    locate: (page) => page.locator('.timeline'),
  },
  {
    ...{ name: 'graph', path: `/runs/${RUN}`, colours: BOTH },
    locate: (page) => page.getByRole('region', { name: 'Graph' }),
  },
  {
    ...{ name: 'pause', path: `/runs/${RUN}`, colours: BOTH },
    locate: (page) => page.getByRole('region', { name: 'Waiting' }),
  },
  { name: 'value', path: `/runs/${RUN}`, colours: ['light'], locate: (page) => page.locator('.value') },
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
  const unknown = new Set<string>();
  const faults: string[] = [];
  let browser: Browser;
  let reason: string | undefined;

  beforeAll(async () => {
    browser = await startBrowser();
    const page = await opened({ path: '/runs', colours: 'light' });
    await page.getByRole('row').getByText('Paused').waitFor();
    const here = await systemOf(browser, page);
    await page.context().close();
    if (isMaking) writeFileSync(SYSTEM_FILE, `${JSON.stringify(here, null, 2)}\n`);
    reason = otherSystem(here);
  });
  leftOut(() => reason);
  afterAll(() => browser.close());

  /** Opens a page with fixed answers, at a fixed time, zone and language. */
  async function opened({ path, colours }: { path: string; colours: Colours }): Promise<Page> {
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
      if (Object.hasOwn(ANSWERS, pathname)) return route.fulfill({ json: ANSWERS[pathname] });
      unknown.add(pathname);
      return route.fulfill({ status: 404, json: {} });
    });
    const page = await context.newPage();
    page.on('pageerror', ({ message }) => faults.push(message));
    await page.clock.setFixedTime(NOW);
    await page.goto(ORIGIN + path);
    return page;
  }

  /** Returns a picture of a part of the page when two successive pictures are equal. */
  async function picture(part: Locator): Promise<Buffer> {
    await part.waitFor();
    await expect.poll(() => part.page().locator('.loading').count()).toBe(0);
    let last = await part.screenshot({ animations: 'disabled' });
    await expect
      .poll(async () => {
        const before = last;
        last = await part.screenshot({ animations: 'disabled' });
        return last.equals(before);
      })
      .toBe(true);
    return last;
  }

  for (const { name, path, colours, locate } of COMPONENTS)
    for (const each of colours)
      it(`look the same as their baseline: ${name}, ${each}`, async ({ skip }) => {
        skip(reason !== undefined, reason);
        const page = await opened({ path, colours: each });
        onTestFinished(() => page.context().close());
        const now = await picture(locate(page));
        const file = join(FOLDER, `${name}-${each}.png`);
        if (isMaking) writeFileSync(file, compressed(now));
        expect(existsSync(file), `${file} does not exist`).toBe(true);
        const differing = differingPixels(readFileSync(file), now) ?? Infinity;
        if (differing <= TOLERANCE) return;
        const seen = join(mkdtempSync(join(tmpdir(), 'heddle-baseline-')), `${name}-${each}.png`);
        writeFileSync(seen, now);
        expect.fail(`${differing} pixels differ from ${file}. The current image is ${seen}.`);
      });

  it('differ if the state of one row or the width changes', async () => {
    const page = await opened({ path: '/runs', colours: 'light' });
    onTestFinished(() => page.context().close());
    const table = page.getByRole('table', { name: 'Runs' });
    const before = await picture(table);
    expect(differingPixels(before, await picture(table))).toBe(0);
    const mark = page.locator('.status[data-status=completed]');
    await mark.evaluate((drawn) => drawn.setAttribute('data-status', 'cancelled'));
    expect(differingPixels(before, await picture(table))).toBeGreaterThan(TOLERANCE);
    await page.setViewportSize({ width: 900, height: 560 });
    expect(differingPixels(before, await picture(table))).toBeUndefined();
  });

  it('send only requests with a fixed answer, and have no errors', () => {
    expect([...unknown]).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('have small images, one for each component', () => {
    const images = readdirSync(FOLDER).filter((file) => file.endsWith('.png'));
    const wanted = COMPONENTS.flatMap(({ name, colours }) => colours.map((each) => `${name}-${each}.png`));
    expect(images.toSorted()).toEqual(wanted.toSorted());
    const bytes = images.reduce((sum, file) => sum + statSync(join(FOLDER, file)).size, 0);
    expect(bytes).toBeLessThan(MOST_BYTES);
  });
});

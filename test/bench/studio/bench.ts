import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import type { Browser, Page } from 'playwright-core';
import { chromiumTool, startBrowser } from '../../support/browser.ts';
import type { RowResult } from '../measure-row.ts';
import { jsonOf, describeMachine, tableOf } from '../report.ts';
import { atMost } from '../rows.ts';
import type { TableRow } from '../rows.ts';
import { startStudioServer } from './server.ts';
import type { StudioServer } from './server.ts';

function tableRow(name: string, max: number): TableRow {
  const target = `at most ${max} ms`;
  return {
    name,
    unit: 'ms',
    peers: [],
    hasBaseline: false,
    target,
    isTargetMet: ({ heddle }) => atMost(heddle, max),
  };
}

/** The rows of the Studio: times of its pages in Chromium. */
const STUDIO_ROWS = {
  paint: tableRow('first paint of the list of runs', 1000),
  open: tableRow('open a run of 2,000 blocks', 1000),
  pan: tableRow('95th percentile of frame times while a graph of 2,000 blocks is moved', 20),
} as const;

const ROUNDS = 7;
const QUICK_ROUNDS = 2;
/** Number of mouse moves while frame times are recorded. */
const MOUSE_MOVES = 120;

type RowName = keyof typeof STUDIO_ROWS;

/** Measures the pages of the Studio in Chromium and prints their table. */
export async function benchStudio(
  { json, quick = false, only = '' }: { json?: string; quick?: boolean; only?: string },
  log: (text: string) => void,
): Promise<void> {
  const pattern = new RegExp(only, 'i');
  const rows = Object.entries(STUDIO_ROWS).filter(([, { name }]) => pattern.test(name));
  if (rows.length === 0) throw new Error(`No row matches "${only}".`);
  if (!chromiumTool) throw new Error('The rows of the Studio need Chromium, which is not installed.');
  const loadBefore = loadavg()[0] as number;
  log('Deploying a workflow of 2,000 blocks …');
  const server = await startStudioServer();
  const browser = await startBrowser();
  try {
    const results: RowResult[] = [];
    for (const [name, row] of rows) {
      log(`${row.name} …`);
      const samples: number[] = [];
      for (let round = 0; round < (quick ? QUICK_ROUNDS : ROUNDS); round += 1)
        samples.push(await takeSample(name as RowName, browser, server));
      results.push(resultOf(row, samples));
      if (json !== undefined) writeFileSync(json, `${JSON.stringify(jsonOf(results), undefined, 2)}\n`);
    }
    const load = `load ${loadBefore.toFixed(1)} before, ${(loadavg()[0] as number).toFixed(1)} after`;
    process.stdout.write(`${tableOf(results)}\n\n${describeMachine()}; ${load}\n`);
  } finally {
    await browser.close();
    await server.stop();
  }
}

function resultOf(row: RowResult['row'], samples: readonly number[]): RowResult {
  const sorted = samples.toSorted((a, b) => a - b);
  const metrics = {
    heddle: sorted[Math.floor(sorted.length / 2)],
    baseline: undefined,
    peers: new Map<string, number>(),
    bestPeer: undefined,
    ratioToBestPeer: undefined,
    ratioToBaseline: undefined,
  };
  const spread = new Map([['heddle', [sorted[0] ?? 0, sorted.at(-1) ?? 0] as const]]);
  return {
    ...metrics,
    row,
    spread,
    missingReasons: new Map(),
    isTargetMet: row.isTargetMet(metrics, new Map()),
  };
}

/** Takes a sample with a new browser context, so that nothing is cached. */
async function takeSample(rowName: RowName, browser: Browser, server: StudioServer): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    const page = await context.newPage();
    await signIn(page, server);
    if (rowName === 'paint') return await measureFirstPaintMs(page, server);
    const openMs = await measureOpenRunMs(page, server);
    return rowName === 'open' ? openMs : await measurePanFrameTimeMs(page);
  } finally {
    await context.close();
  }
}

async function signIn(page: Page, { url, key }: StudioServer): Promise<void> {
  const headers = { 'Content-Type': 'application/json', 'X-Heddle-Studio': '1', Origin: url };
  const response = await page.request.post(`${url}/api/studio/session`, { headers, data: { apiKey: key } });
  if (!response.ok()) throw new Error(`The sign-in failed with status ${response.status()}.`);
}

/** Returns the milliseconds from the navigation to the first contentful paint. */
async function measureFirstPaintMs(page: Page, { url }: StudioServer): Promise<number> {
  await page.goto(`${url}/runs`);
  await page.getByRole('row').nth(1).waitFor();
  return page.evaluate<number>('performance.getEntriesByName("first-contentful-paint")[0].startTime');
}

/** Returns the milliseconds from the click on a run until the page shows its blocks. */
async function measureOpenRunMs(page: Page, { url, runId }: StudioServer): Promise<number> {
  await page.goto(`${url}/runs`);
  await page.getByRole('row').nth(1).waitFor();
  const startMs = performance.now();
  await page.locator(`a[href*="${runId}"]`).first().click();
  await page.locator('.simplified-blocks path').first().waitFor();
  return performance.now() - startMs;
}

/** Returns the 95th percentile of frame times while the graph is dragged, at a zoom that shows the text of blocks. */
async function measurePanFrameTimeMs(page: Page): Promise<number> {
  await page.getByRole('navigation', { name: 'Blocks' }).getByRole('button').nth(3).click();
  await page.locator('.graph .block').first().waitFor();
  const box = await page.locator('.react-flow__pane').boundingBox();
  if (!box) throw new Error('The graph is not visible.');
  const [x, y] = [box.x + box.width / 2, box.y + box.height - 20];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.evaluate(`(() => {
    const times = (globalThis.frameTimes = []);
    let previous = performance.now();
    const frame = (now) => { times.push(now - previous); previous = now; requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
  })()`);
  for (let move = 1; move <= MOUSE_MOVES; move += 1) await page.mouse.move(x - move * 3, y - (move % 40) * 3);
  const times = await page.evaluate<number[]>('globalThis.frameTimes');
  await page.mouse.up();
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? 0;
}

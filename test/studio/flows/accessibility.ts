import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { draftOf } from '../../support/draft.ts';
import { startStudio, styleOf } from '../setup.ts';
import type { GetServeArgs } from '../setup.ts';
import {
  REFUND_APPROVAL_WORKFLOW,
  HOSTILE_TEXT,
  HOSTILE_OUTPUT_WORKFLOW,
  NESTED_WORKFLOW,
  LONG_CODE_WORKFLOW,
} from '../workflows.ts';

/** A long name without a possible line break. Users choose the names. */
const LONG_NAME = `W${'w'.repeat(90)}`;

/** Defines the accessibility tests of the Studio. */
export function defineAccessibilityTests(getServeArgs: GetServeArgs): void {
  const studio = startStudio({ getServeArgs });
  const paths = new Map<string, string>();

  beforeAll(async () => {
    await studio.context.addInitScript({ content: axe.source });
    const nestedId = await studio.deploy('Nightly order prices', NESTED_WORKFLOW);
    const nestedRunId = await studio.run(nestedId);
    await studio.redeploy(nestedId, draftOf(HOSTILE_OUTPUT_WORKFLOW));
    for (const path of ['/Team', `/Team/${LONG_NAME}`])
      await studio.call('POST', '/api/v2/workflows/folders', { workspaceId: studio.workspaceId, path });
    await studio.call('PATCH', `/api/v2/workflows/${nestedId}`, { folderPath: '/Team' });
    const draft = await studio.call<{ blocks: object }>('GET', `/api/v2/workflows/${nestedId}/state`);
    const sayId = Object.keys(draft.blocks).find((id) => id.startsWith('Say')) ?? '';
    const failedRunId = await studio.run(
      await studio.deploy(HOSTILE_TEXT.slice(0, 80), HOSTILE_OUTPUT_WORKFLOW),
    );
    await studio.run(await studio.deploy('Waits', LONG_CODE_WORKFLOW), { async: true });
    const pausedRunId = await studio.run(await studio.deploy(LONG_NAME, REFUND_APPROVAL_WORKFLOW));
    const pathsByName = {
      runs: '/runs',
      'no runs': '/runs?runId=unknown',
      run: `/runs/${nestedRunId}?span=Summary`,
      timeline: `/runs/${nestedRunId}?view=timeline`,
      'a failed run': `/runs/${failedRunId}?span=Fail&pane=details`,
      'a paused run': `/runs/${pausedRunId}`,
      workflows: '/workflows?folder=%2FTeam',
      workflow: `/workflows/${nestedId}?block=${sayId}`,
      'matches of a search': '/runs?text=a',
      dashboard: '/dashboard',
      settings: '/settings',
      'an unknown page': '/runs/unknown',
    };
    for (const [name, path] of Object.entries(pathsByName)) paths.set(name, path);
  });

  async function open(path: string): Promise<Page> {
    const page = await studio.context.newPage();
    onTestFinished(() => page.close());
    await visit(page, path);
    return page;
  }

  async function visit(page: Page, path: string): Promise<void> {
    await page.goto(studio.url + path);
    await page.locator('h1, [role=alert]').first().waitFor();
    await expect.poll(() => page.locator('.loading').count()).toBe(0);
  }

  /** Returns the axe violations on a page: the rule and the element of each. */
  async function findViolations(page: Page): Promise<string[]> {
    const { violations } = await page.evaluate(() =>
      (globalThis as unknown as { axe: typeof axe }).axe.run({ resultTypes: ['violations'] }),
    );
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
  }

  it(
    'has no axe violations on any page in light and dark colours, and fits 320 pixels and 200 % zoom',
    { timeout: 120_000 },
    async () => {
      const page = await open('/runs');
      const violations: string[] = [];
      const overflows: string[] = [];
      for (const [name, path] of paths) {
        await page.setViewportSize({ width: 1280, height: 800 });
        await visit(page, path);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          violations.push(
            ...(await findViolations(page)).map((violation) => `${name}, ${colorScheme}: ${violation}`),
          );
        }
        // At 200 % zoom, a window of 1280 pixels is 640 CSS pixels wide.
        for (const width of [640, 320]) {
          await page.setViewportSize({ width, height: 720 });
          const scrollWidth = await page.evaluate<number>('document.documentElement.scrollWidth');
          if (scrollWidth > width) overflows.push(`${name} at ${width}: ${scrollWidth}`);
        }
      }
      expect({ violations, tooWide: overflows }).toEqual({ violations: [], tooWide: [] });
    },
  );

  it('has no axe violations in the sign-in form and in a dialog', async () => {
    const signedOutContext = await studio.browser.newContext();
    onTestFinished(() => signedOutContext.close());
    await signedOutContext.addInitScript({ content: axe.source });
    const signInPage = await signedOutContext.newPage();
    await signInPage.goto(studio.url);
    await signInPage.getByLabel('API key').fill('wrong');
    await signInPage.keyboard.press('Enter');
    await signInPage.getByRole('alert').waitFor();
    expect(await findViolations(signInPage)).toEqual([]);
    const page = await open(paths.get('run') ?? '');
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByRole('dialog').waitFor();
    expect(await findViolations(page)).toEqual([]);
  });

  it('has no animations for users who prefer reduced motion', async () => {
    const page = await open('/runs?status=running');
    const mark = page.locator('.status[data-status=running] .status-mark').first();
    const readAnimation = () => styleOf(mark, 'animation-name');
    expect(await readAnimation()).toBe('pulse');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await readAnimation()).toBe('none');
  });

  it('shows times in the time zone of the browser, and in UTC on hover', async () => {
    const tokyoContext = await studio.browser.newContext({ timezoneId: 'Asia/Tokyo', locale: 'en-GB' });
    onTestFinished(() => tokyoContext.close());
    await tokyoContext.addCookies(await studio.context.cookies());
    const page = await tokyoContext.newPage();
    await visit(page, paths.get('run') ?? '');
    const time = page.locator('.facts time').first();
    const isoTime = (await time.getAttribute('datetime')) ?? '';
    const timeInTokyo = new Date(Date.parse(isoTime) + 9 * 3_600_000).toISOString().slice(11, 19);
    expect(await time.textContent()).toContain(timeInTokyo);
    expect(await time.getAttribute('title')).toBe(`${isoTime.slice(0, 19).replace('T', ' ')} UTC`);
  });
}

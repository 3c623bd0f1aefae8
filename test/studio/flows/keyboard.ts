import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { startStudio, styleOf } from '../setup.ts';
import type { GetServeArgs, Studio } from '../setup.ts';
import { REFUND_APPROVAL_WORKFLOW, LONG_WAIT_WORKFLOW } from '../workflows.ts';

/** Maximum number of presses of Tab to reach an element. */
const MAX_TABS = 40;

/** Presses Tab until the element with this role and name has the focus. Expects a visible outline of the element. */
async function tabTo(page: Page, role: Parameters<Page['getByRole']>[0], name: string): Promise<void> {
  const element = page.getByRole(role, { name }).first();
  await element.waitFor();
  for (let count = 0; count < MAX_TABS; count += 1) {
    const hasFocus = await element.evaluate((node) => node.ownerDocument.activeElement === node);
    if (hasFocus) {
      expect(`${name}: ${await styleOf(element, 'outline-style')}`).toBe(`${name}: solid`);
      return;
    }
    await page.keyboard.press('Tab');
  }
  throw new Error(`${MAX_TABS} presses of Tab did not lead to the ${role} "${name}".`);
}

/**
 * Signs in, filters runs, opens a run, steps through its blocks, answers its pause and cancels another run, all by
 * keyboard. Returns the status that the page of the cancelled run shows.
 */
async function completeKeyboardJourney(studio: Studio): Promise<string> {
  const pausedRunId = await studio.run(await studio.deploy('Refunds', REFUND_APPROVAL_WORKFLOW));
  await studio.run(await studio.deploy('Waits', LONG_WAIT_WORKFLOW), { async: true });
  const signedOutContext = await studio.browser.newContext();
  onTestFinished(() => signedOutContext.close());
  const page = await signedOutContext.newPage();
  await page.goto(studio.url);
  await tabTo(page, 'textbox', 'API key');
  await page.keyboard.type(studio.key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Runs' }).waitFor();

  await page.getByRole('link', { name: 'Waits' }).waitFor();
  await tabTo(page, 'textbox', 'Workflow');
  await page.keyboard.type('Refunds');
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  await tabTo(page, 'link', 'Refunds');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.pathname === `/runs/${pausedRunId}`);

  await tabTo(page, 'button', 'Start, completed');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Start' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Approve refund' }).waitFor();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Pay' }).waitFor();
  await page.getByText('This block has not run').waitFor();
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await tabTo(page, 'tab', 'Output');
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => new URL(page.url()).searchParams.get('pane')).toBe('input');

  await page.reload();
  await tabTo(page, 'combobox', 'approved');
  await page.keyboard.press('t');
  await tabTo(page, 'textbox', 'comment');
  await page.keyboard.type('fine');
  await page.keyboard.press('Enter');
  await page.locator('.run-title').getByText('Completed').waitFor();

  await tabTo(page, 'link', 'Runs');
  await page.keyboard.press('Enter');
  await tabTo(page, 'link', 'Waits');
  await page.keyboard.press('Enter');
  await tabTo(page, 'button', 'Cancel run');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  expect(await page.locator(':focus').textContent()).toBe('Cancel run');
  await page.keyboard.press('Enter');
  await tabTo(page, 'button', 'Cancel run');
  await page.keyboard.press('Enter');
  await page.locator('.run-title').getByText('Cancelled').waitFor();
  return (await page.locator('.run-title .status').textContent()) ?? '';
}

/** Defines the test that uses the Studio with the keyboard only. */
export function defineKeyboardTests(getServeArgs: GetServeArgs): void {
  const studio = startStudio({ getServeArgs });

  it(
    'lets a user sign in, filter runs, step through the blocks of a run, answer its pause and cancel a run',
    { timeout: 90_000 },
    async () => {
      expect(await completeKeyboardJourney(studio)).toBe('Cancelled');
    },
  );
}

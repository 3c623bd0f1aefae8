import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { resolveTool } from '../tools/fetch.ts';
import { withoutUndefined } from './without-undefined.ts';

/** The browser of the tests. Undefined if this machine has none; then tests that need it are skipped. */
export const chromiumTool = resolveTool('chromium');

/** Starts the browser. The caller closes it. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    ...(chromiumTool && { executablePath: chromiumTool.path, env: withoutUndefined(chromiumTool.env) }),
    args: ['--no-sandbox'],
  });
}

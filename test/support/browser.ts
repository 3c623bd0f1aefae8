import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { requireTool } from '../tools/fetch.ts';
import type { FoundTool } from '../tools/fetch.ts';

/** The browser of the tests. Undefined if this machine has none; then tests that need it are skipped. */
export const chromiumTool = requireTool('chromium');

/** Starts the browser. The caller closes it. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    ...(chromiumTool && { executablePath: chromiumTool.path, env: definedIn(chromiumTool.env) }),
    args: ['--no-sandbox'],
  });
}

/** Returns the environment without undefined values. */
export function definedIn(env: FoundTool['env']): { [name: string]: string } {
  return Object.fromEntries(
    Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}

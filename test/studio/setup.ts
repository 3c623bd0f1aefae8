import type { Json } from '@heddle/core';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { startBrowser } from '../support/browser.ts';
import { draftOf } from '../support/draft.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { startHeddleServe } from '../support/heddle.ts';

/** A real server, a browser that has signed in, and API calls with a key. */
export interface Studio {
  /** `http://127.0.0.1:port`. */
  url: string;
  /** The printed sign-in URL. Its token has been used. */
  signInUrl: string;
  key: string;
  workspaceId: string;
  browser: Browser;
  context: BrowserContext;
  /** Errors of the pages, and violations of their content security policy. */
  errors: string[];
  /** URLs that the pages have requested. */
  requestedUrls: string[];
  call<Data>(method: string, path: string, body?: unknown): Promise<Data>;
  /** Creates a workflow from an exported file and deploys it. Returns its id. */
  deploy(name: string, definition: Json): Promise<string>;
  /** Replaces the draft of a workflow and deploys it. */
  redeploy(workflowId: string, draft: object): Promise<void>;
  /** Starts a run with the request body `body`, and waits for its end unless `async` is true. Returns its id. */
  run(workflowId: string, body?: object): Promise<string>;
  /** Returns the id of the block with this name in the graph of a run. */
  findBlockId(runId: string, name: string): Promise<string>;
}

/** The secrets of the server. Servers on PostgreSQL have no data folder that stores them. */
const SECRETS = {
  HEDDLE_API_SECRET: 'a secret of at least thirty-two characters',
  HEDDLE_SECRET_KEYS: Buffer.alloc(32, 7).toString('base64'),
};

type RegisterCleanup = (cleanup: () => void) => void;

/** Returns options of `heddle serve`. `registerCleanup` registers a function that is called after the tests. */
export type GetServeArgs = (registerCleanup: RegisterCleanup) => Promise<readonly string[]>;

interface StudioOptions {
  /** Options for the store of the server. Default: a new folder. */
  getServeArgs?: GetServeArgs;
  /** Additional options of the server. */
  getExtraArgs?: GetServeArgs;
}

/** Starts a server and a browser for the tests of this file. */
export function startStudio({
  getServeArgs = getFolderStoreArgs,
  getExtraArgs = () => Promise.resolve([]),
}: StudioOptions = {}): Studio {
  const studio = { errors: [], requestedUrls: [] } as unknown as Studio;
  const cleanups: (() => unknown)[] = [];
  beforeAll(async () => {
    const registerCleanup: RegisterCleanup = (cleanup) => void cleanups.push(cleanup);
    const args = [...(await getServeArgs(registerCleanup)), ...(await getExtraArgs(registerCleanup))];
    const server = await startHeddleServe(args, { registerCleanup, env: SECRETS });
    const { url, key, workspaceId } = server;
    const { studio: signInUrl = '' } = server as { studio?: string };
    Object.assign(studio, { url, key, workspaceId, signInUrl });
    studio.call = async <Data>(method: string, path: string, body?: unknown) => {
      const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
      const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
      const response = await fetch(url + path, init);
      const json = (await response.json()) as { data: Data };
      if (!response.ok) throw new Error(JSON.stringify(json));
      return json.data;
    };
    studio.deploy = async (name, definition) => {
      const { id } = await studio.call<{ id: string }>('POST', '/api/v2/workflows', { workspaceId, name });
      await studio.redeploy(id, draftOf(definition));
      return id;
    };
    studio.redeploy = async (id, draft) => {
      await studio.call('PUT', `/api/v2/workflows/${id}/state`, draft);
      await studio.call('POST', `/api/v2/workflows/${id}/deploy`, {});
    };
    studio.run = async (workflowId, body = {}) =>
      (await studio.call<{ runId: string }>('POST', `/api/v2/workflows/${workflowId}/execute`, body)).runId;
    studio.findBlockId = async (runId, name) => {
      const path = `/api/v2/logs/${runId}/overview`;
      const { graph } = await studio.call<{ graph: { blocks: { id: string; name: string }[] } }>('GET', path);
      return graph.blocks.find((block) => block.name === name)?.id ?? '';
    };
    studio.browser = await startBrowser();
    cleanups.push(() => studio.browser.close());
    studio.context = await studio.browser.newContext({
      viewport: { width: 1440, height: 900 },
      timezoneId: 'UTC',
    });
    recordRequestsAndErrors(studio);
    const page = await studio.context.newPage();
    await page.goto(signInUrl);
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    await page.close();
  });
  afterAll(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });
  return studio;
}

const getFolderStoreArgs: GetServeArgs = (registerCleanup) =>
  Promise.resolve(['--data', createDataFolder(registerCleanup)]);

function recordRequestsAndErrors({ context, errors, requestedUrls }: Studio): void {
  context.on('page', (page: Page) => {
    page.on('request', (request) => requestedUrls.push(request.url()));
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  });
}

/** Returns the value of a property in the computed style of the element. */
export function styleOf(element: Locator, property: string): Promise<string> {
  return element.evaluate(
    (node, name) => node.ownerDocument.defaultView?.getComputedStyle(node).getPropertyValue(name) ?? '',
    property,
  );
}

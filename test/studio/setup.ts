import type { Json } from '@heddle/core';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { startBrowser } from '../support/browser.ts';
import { draftOf } from '../support/draft.ts';
import { dataFolder } from '../support/data-folder.ts';
import { startServe } from '../support/heddle.ts';

/** A real server, a browser that has signed in, and calls of the API with a key. */
export interface Studio {
  /** `http://127.0.0.1:port`. */
  url: string;
  /** The printed address with its token, which has been used. */
  address: string;
  key: string;
  workspaceId: string;
  browser: Browser;
  context: BrowserContext;
  /** Errors of the pages, and violations of their policy. */
  faults: string[];
  /** Addresses that the pages have loaded from. */
  loaded: string[];
  call<Data>(method: string, path: string, body?: unknown): Promise<Data>;
  deployed(name: string, exported: Json): Promise<string>;
  /** Replaces the draft of a workflow and deploys it. */
  redeployed(workflowId: string, draft: object): Promise<void>;
  /** Starts a run and returns its id; waits for it unless `async`. */
  run(workflowId: string, body?: object): Promise<string>;
  /** Returns the id of the block with this name in the graph of a run. */
  blockId(runId: string, name: string): Promise<string>;
}

/** Servers on PostgreSQL have no data folder with these secrets. */
const SECRET = {
  HEDDLE_API_SECRET: 'a secret of at least thirty-two characters',
  HEDDLE_SECRET_KEYS: Buffer.alloc(32, 7).toString('base64'),
};

type WhenDone = (stop: () => void) => void;

/** Options of `heddle serve`, for its store and others. */
export type ServeArgs = (whenDone: WhenDone) => Promise<readonly string[]>;

interface StudioOptions {
  /** Options for the store of the server. Default: a new folder. */
  store?: ServeArgs;
  /** Other options of the server. */
  more?: ServeArgs;
}

/** Starts a server and a browser for the tests of this file. */
export function studio({ store = inFolder, more = () => Promise.resolve([]) }: StudioOptions = {}): Studio {
  const shared = { faults: [], loaded: [] } as unknown as Studio;
  const stops: (() => unknown)[] = [];
  beforeAll(async () => {
    const whenDone: WhenDone = (stop) => void stops.push(stop);
    const args = [...(await store(whenDone)), ...(await more(whenDone))];
    const served = await startServe(args, { whenDone, env: SECRET });
    const { url, key, workspaceId } = served;
    const { studio: address = '' } = served as { studio?: string };
    Object.assign(shared, { url, key, workspaceId, address });
    shared.call = async <Data>(method: string, path: string, body?: unknown) => {
      const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
      const given = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(url + path, { method, headers, ...given });
      const answer = (await response.json()) as { data: Data };
      if (!response.ok) throw new Error(JSON.stringify(answer));
      return answer.data;
    };
    shared.deployed = async (name, exported) => {
      const { id } = await shared.call<{ id: string }>('POST', '/api/v2/workflows', { workspaceId, name });
      await shared.redeployed(id, draftOf(exported));
      return id;
    };
    shared.redeployed = async (id, draft) => {
      await shared.call('PUT', `/api/v2/workflows/${id}/state`, draft);
      await shared.call('POST', `/api/v2/workflows/${id}/deploy`, {});
    };
    shared.run = async (workflowId, body = {}) =>
      (await shared.call<{ runId: string }>('POST', `/api/v2/workflows/${workflowId}/execute`, body)).runId;
    shared.blockId = async (runId, name) => {
      const path = `/api/v2/logs/${runId}/overview`;
      const { graph } = await shared.call<{ graph: { blocks: { id: string; name: string }[] } }>('GET', path);
      return graph.blocks.find((each) => each.name === name)?.id ?? '';
    };
    shared.browser = await startBrowser();
    stops.push(() => shared.browser.close());
    shared.context = await shared.browser.newContext({
      viewport: { width: 1440, height: 900 },
      timezoneId: 'UTC',
    });
    watch(shared);
    const page = await shared.context.newPage();
    await page.goto(address);
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    await page.close();
  });
  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop();
  });
  return shared;
}

const inFolder: ServeArgs = (whenDone) => Promise.resolve(['--data', dataFolder(whenDone)]);

function watch({ context, faults, loaded }: Studio): void {
  context.on('page', (page: Page) => {
    page.on('request', (request) => loaded.push(request.url()));
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  });
}

/** Returns the computed style of the element in the browser. */
export function styleOf(element: Locator, property: string): Promise<string> {
  return element.evaluate(
    (drawn, name) => drawn.ownerDocument.defaultView?.getComputedStyle(drawn).getPropertyValue(name) ?? '',
    property,
  );
}

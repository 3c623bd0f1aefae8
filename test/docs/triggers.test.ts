import { rmSync } from 'node:fs';
import { triggerTypes } from '@heddle/blocks/triggers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../packages/cli/src/serve/listen.ts';
import type { ListeningServer } from '../../packages/cli/src/serve/listen.ts';
import { createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { sample } from '../support/scale.ts';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';
import { resolveTool } from '../tools/fetch.ts';
import { codeBlocksOf, readPage } from './markdown.ts';
import { createPageFolder, runShellCommand } from './shell.ts';

/**
 * Pages whose commands need a server, each with a pattern that their output matches. `test/docs/webhooks.test.ts` runs
 * the commands of webhooks.
 */
const PAGES: readonly (readonly [page: string, outputPattern: RegExp])[] = [
  ['docs/triggers.md', /"name":"Clock"|Report/],
  ['docs/feeds.md', /"type":"rss"/],
  ['docs/events.md', /Alert/],
  ['docs/chats.md', /event: |"\[DONE\]"|data: /],
];
const PAGES_BY_KIND = {
  schedule: 'docs/triggers.md',
  webhook: 'docs/webhooks.md',
  feed: 'docs/feeds.md',
  event: 'docs/events.md',
} as const;
const PRELUDE = 'curl() { command curl --silent --show-error --fail-with-body --max-time 60 "$@" && echo; }';
const curl = resolveTool('curl');

const commandsOf = (page: string): string[] =>
  codeBlocksOf(page, readPage(page)).flatMap(({ attributes, text }) =>
    attributes.has('commands') || attributes.has('receive') ? [text] : [],
  );

it.each(triggerTypes.map(({ type, kind }) => [type, PAGES_BY_KIND[kind]] as const))(
  'the trigger %s is described in %s, which has a call with curl',
  (type, page) => {
    expect(readPage(page)).toContain(`\`${type}\``);
    expect(commandsOf(page).join('\n')).toMatch(/^curl /m);
  },
);

describe.skipIf(!curl)('the commands of pages about triggers and chats', () => {
  let api: TestApi;
  let server: ListeningServer;

  beforeAll(async () => {
    api = await createTestApi({ triggers: triggerTypes });
    server = await listen(async (request) => api.api.fetch(request), { host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    server.close();
    await server.waitUntilClosed();
  });

  it.each(sample(PAGES, 2, 'pages about triggers whose commands are run'))(
    'run with the documented output: %s',
    { timeout: 120_000 },
    async (page, outputPattern) => {
      const inputFormat = [{ name: 'city', type: 'string', value: '' }];
      const agent = { type: 'start_trigger', lastBlock: { name: 'agent' } };
      const workflowId = await api.deploy(createTriggerWorkflow({ inputFormat }, agent));
      const folder = createPageFolder(page);
      const { exitCode, stdout, stderr } = await runShellCommand(
        [PRELUDE, ...commandsOf(page)].join('\n'),
        folder,
        {
          ...{ HEDDLE_URL: server.url, HEDDLE_API_KEY: api.key, HEDDLE_WORKSPACE: api.workspaceId },
          ...{ BASE: server.url, KEY: api.key, WORKSPACE: api.workspaceId, WORKFLOW: workflowId },
        },
      );
      rmSync(folder, { recursive: true, force: true });
      expect(exitCode, `${stderr}\n${stdout}`).toBe(0);
      expect(stdout).toMatch(outputPattern);
    },
  );
});

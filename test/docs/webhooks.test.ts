import { rmSync } from 'node:fs';
import type { Json } from '@heddle/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../packages/cli/src/serve/listen.ts';
import type { ListeningServer } from '../../packages/cli/src/serve/listen.ts';
import { requireTool } from '../tools/fetch.ts';
import { SECRETS, webhookApi } from '../triggers/webhook-setup.ts';
import type { WebhookApi } from '../triggers/webhook-setup.ts';
import { fencesOf, readPage } from './markdown.ts';
import { createPageFolder, runShellCommand } from './shell.ts';

const PAGE = 'docs/webhooks.md';
const curl = requireTool('curl');
const fences = fencesOf(PAGE, readPage(PAGE)).filter(({ marks }) => marks.has('receive'));

/** Makes curl fail on an error status. */
const PRELUDE = 'curl() { command curl --silent --show-error --fail-with-body --max-time 60 "$@" && echo; }';

interface Sender {
  type: string;
  fields: { [name: string]: Json };
  /** Name of the secret that signs the calls. */
  secret?: string;
  /** Number of calls in the fence. Default: one. */
  calls?: number;
}

/** The webhooks of the senders on the page, by the value of the mark `receive` of the fences that call them. */
const SENDERS: { readonly [mark: string]: Sender } = {
  held: { type: 'generic_webhook', fields: { flowControl: { debounce: { seconds: 60 } } } },
  token: { type: 'generic_webhook', fields: { token: 'open-sesame' }, calls: 2 },
  github: { type: 'github', fields: { webhookSecret: '{{GITHUB}}' }, secret: 'GITHUB' },
  slack: { type: 'slack', fields: { signingSecret: '{{SLACK}}' }, secret: 'SLACK' },
  stripe: { type: 'stripe', fields: { webhookSecret: '{{STRIPE}}' }, secret: 'STRIPE' },
  linear: { type: 'linear', fields: { webhookSecret: '{{LINEAR}}' }, secret: 'LINEAR' },
  circleback: { type: 'circleback', fields: { webhookSecret: '{{CIRCLEBACK}}' }, secret: 'CIRCLEBACK' },
  telegram: { type: 'telegram', fields: { webhookSecret: '{{TELEGRAM}}' }, secret: 'TELEGRAM' },
};

describe.skipIf(!curl)(`${PAGE}`, () => {
  let api: WebhookApi;
  let server: ListeningServer;
  let folder = '';

  beforeAll(async () => {
    // The shell signs with the current time.
    api = await webhookApi('sqlite', { now: Date.now });
    server = await listen(async (request) => api.api.fetch(request), { host: '127.0.0.1', port: 0 });
    folder = createPageFolder(PAGE);
  });

  afterAll(async () => {
    server.close();
    await server.waitUntilClosed();
    rmSync(folder, { recursive: true, force: true });
  });

  it('has calls from each sender', () => {
    const senders = new Set(fences.map(({ marks }) => marks.get('receive')));
    expect(senders).toEqual(new Set(Object.keys(SENDERS)));
  });

  it(
    'has commands that list the webhook and its deliveries, and replay one',
    { timeout: 120_000 },
    async () => {
      const [commands = ''] = fencesOf(PAGE, readPage(PAGE)).flatMap(({ marks, text }) =>
        marks.has('commands') ? [text] : [],
      );
      const lines = commands.trim().split('\n');
      const env = { HEDDLE_URL: server.url, HEDDLE_API_KEY: api.key, HEDDLE_WORKSPACE: api.workspaceId };
      const run = async (script: string) => {
        const { exit, stdout, stderr } = await runShellCommand(script, folder, env);
        expect(exit, `${stderr}\n${stdout}`).toBe(0);
        return stdout;
      };
      const listed = await run(lines.slice(0, 2).join('\n'));
      const [, path = ''] = /http\S+(\/api\/webhooks\/trigger\/[\w.-]+)/.exec(listed) ?? [];
      const headers = { 'Content-Type': 'application/json', Authorization: 'Bearer open-sesame' };
      const response = await api.send(path, { headers, body: '{"order": 7}' });
      expect(response.status).toBe(200);
      const deliveries = await run(lines[2] ?? '');
      expect(deliveries).toContain(response.body['runId']);
      const [id = ''] = /[\da-f-]{36}(?=\s*$)/m.exec(deliveries) ?? [];
      const runId = (await run((lines[3] ?? '').replace(/\S+$/, id))).trim();
      expect(await api.readTriggerOutput(runId)).toMatchObject({ order: 7 });
    },
  );

  it.each(fences.map((fence) => [fence.at, fence] as const))(
    'has calls that start runs: %s',
    async (_at, { marks, text }) => {
      const { type, fields, secret = '', calls = 1 } = SENDERS[marks.get('receive') ?? ''] as Sender;
      const { path } = await api.deployWebhook(fields, { type });
      const env = { URL: server.url + path, SECRET: SECRETS[secret] ?? '' };
      const { exit, stdout, stderr } = await runShellCommand(`${PRELUDE}\n${text}`, folder, env);
      expect(exit, `${stderr}\n${stdout}`).toBe(0);
      const responses = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { runId: unknown; flow?: unknown });
      expect(responses).toHaveLength(calls);
      for (const { runId } of responses) expect(runId).toEqual(expect.any(String));
      if (marks.get('receive') === 'held')
        expect(responses[0]?.flow).toEqual({ state: 'waiting', reason: 'debounce' });
    },
  );
});

import { rmSync } from 'node:fs';
import type { Json } from '@heddle/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../packages/cli/src/serve/listen.ts';
import type { ListeningServer } from '../../packages/cli/src/serve/listen.ts';
import { resolveTool } from '../tools/fetch.ts';
import { SECRETS, openWebhookApi } from '../triggers/webhook-setup.ts';
import type { WebhookApi } from '../triggers/webhook-setup.ts';
import { codeBlocksOf, readPage } from './markdown.ts';
import { createPageFolder, runShellCommand } from './shell.ts';

const PAGE = 'docs/webhooks.md';
const curl = resolveTool('curl');
const codeBlocks = codeBlocksOf(PAGE, readPage(PAGE)).filter(({ attributes }) => attributes.has('receive'));

/** Makes curl fail on an error status. */
const PRELUDE = 'curl() { command curl --silent --show-error --fail-with-body --max-time 60 "$@" && echo; }';

interface Sender {
  type: string;
  fields: { [name: string]: Json };
  /** Name of the secret that signs the calls. */
  secretName?: string;
  /** Number of calls in the code block. Default: one. */
  callCount?: number;
}

/**
 * The webhooks of the senders on the page, by the value of the attribute `receive` of the code blocks that call them.
 */
const SENDERS: { readonly [attribute: string]: Sender } = {
  waiting: { type: 'generic_webhook', fields: { flowControl: { debounce: { seconds: 60 } } } },
  token: { type: 'generic_webhook', fields: { token: 'open-sesame' }, callCount: 2 },
  github: { type: 'github', fields: { webhookSecret: '{{GITHUB}}' }, secretName: 'GITHUB' },
  slack: { type: 'slack', fields: { signingSecret: '{{SLACK}}' }, secretName: 'SLACK' },
  stripe: { type: 'stripe', fields: { webhookSecret: '{{STRIPE}}' }, secretName: 'STRIPE' },
  linear: { type: 'linear', fields: { webhookSecret: '{{LINEAR}}' }, secretName: 'LINEAR' },
  circleback: { type: 'circleback', fields: { webhookSecret: '{{CIRCLEBACK}}' }, secretName: 'CIRCLEBACK' },
  telegram: { type: 'telegram', fields: { webhookSecret: '{{TELEGRAM}}' }, secretName: 'TELEGRAM' },
};

describe.skipIf(!curl)(`${PAGE}`, () => {
  let api: WebhookApi;
  let server: ListeningServer;
  let folder = '';

  beforeAll(async () => {
    // The shell signs with the current time.
    api = await openWebhookApi('sqlite', { now: Date.now });
    server = await listen(async (request) => api.api.fetch(request), { host: '127.0.0.1', port: 0 });
    folder = createPageFolder(PAGE);
  });

  afterAll(async () => {
    server.close();
    await server.waitUntilClosed();
    rmSync(folder, { recursive: true, force: true });
  });

  it('has calls from each sender', () => {
    const senders = new Set(codeBlocks.map(({ attributes }) => attributes.get('receive')));
    expect(senders).toEqual(new Set(Object.keys(SENDERS)));
  });

  it(
    'has commands that list the webhook and its deliveries, and replay one',
    { timeout: 120_000 },
    async () => {
      const [commands = ''] = codeBlocksOf(PAGE, readPage(PAGE)).flatMap(({ attributes, text }) =>
        attributes.has('commands') ? [text] : [],
      );
      const lines = commands.trim().split('\n');
      const env = { HEDDLE_URL: server.url, HEDDLE_API_KEY: api.key, HEDDLE_WORKSPACE: api.workspaceId };
      const run = async (script: string) => {
        const { exitCode, stdout, stderr } = await runShellCommand(script, folder, env);
        expect(exitCode, `${stderr}\n${stdout}`).toBe(0);
        return stdout;
      };
      const listOutput = await run(lines.slice(0, 2).join('\n'));
      const [, path = ''] = /http\S+(\/api\/webhooks\/trigger\/[\w.-]+)/.exec(listOutput) ?? [];
      const headers = { 'Content-Type': 'application/json', Authorization: 'Bearer open-sesame' };
      const response = await api.send(path, { headers, body: '{"order": 7}' });
      expect(response.status).toBe(200);
      const deliveriesOutput = await run(lines[2] ?? '');
      expect(deliveriesOutput).toContain(response.body['runId']);
      const [id = ''] = /[\da-f-]{36}(?=\s*$)/m.exec(deliveriesOutput) ?? [];
      const runId = (await run((lines[3] ?? '').replace(/\S+$/, id))).trim();
      expect(await api.readTriggerOutput(runId)).toMatchObject({ order: 7 });
    },
  );

  it.each(codeBlocks.map((codeBlock) => [codeBlock.location, codeBlock] as const))(
    'has calls that start runs: %s',
    async (_location, { attributes, text }) => {
      const {
        type,
        fields,
        secretName = '',
        callCount = 1,
      } = SENDERS[attributes.get('receive') ?? ''] as Sender;
      const { path } = await api.deployWebhook(fields, { type });
      const env = { URL: server.url + path, SECRET: SECRETS[secretName] ?? '' };
      const { exitCode, stdout, stderr } = await runShellCommand(`${PRELUDE}\n${text}`, folder, env);
      expect(exitCode, `${stderr}\n${stdout}`).toBe(0);
      const responses = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { runId: unknown; flow?: unknown });
      expect(responses).toHaveLength(callCount);
      for (const { runId } of responses) expect(runId).toEqual(expect.any(String));
      if (attributes.get('receive') === 'waiting')
        expect(responses[0]?.flow).toEqual({ state: 'waiting', reason: 'debounce' });
    },
  );
});

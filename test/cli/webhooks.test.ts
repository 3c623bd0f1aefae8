import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { heddle, startServe } from '../support/heddle.ts';
import { HOOK_CREDENTIALS, hookProviders } from '../support/hook-providers.ts';
import { webhookWorkflow } from '../triggers/webhook-setup.ts';

const ORIGIN = 'https://flows.heddle.test';

describe('heddle webhooks', { timeout: 120_000 }, () => {
  it('lists webhooks and deliveries, and replays a delivery', async () => {
    const cwd = dataFolder();
    writeFileSync(join(cwd, 'hook.json'), JSON.stringify(webhookWorkflow({})));
    const { url, workspaceId, key } = await startServe(['--grace', '1'], { cwd });
    const env = { HEDDLE_URL: url, HEDDLE_WORKSPACE: workspaceId, HEDDLE_API_KEY: key };
    const call = (...args: string[]) => heddle(args, { cwd, env });
    expect(await call('webhooks', 'list')).toMatchObject({ exit: 0, stderr: 'No webhooks.\n' });
    const checked = await call('check', 'hook.json');
    expect(checked.stdout).toContain('anyone who knows the URL of the webhook can start runs');
    expect(await call('deploy', 'hook.json', '--name', 'hook')).toMatchObject({ exit: 0 });

    const { stdout } = await call('webhooks', 'list');
    expect(stdout).toMatch(
      /^WORKFLOW +BLOCK +STATE +SIGNED +HOOK +LAST +URL +REFUSED\nhook +Clock +active +no +- +- +http/,
    );
    const fields = { triggerCredentials: 'c', owner: 'ada', repo: 'loom' };
    writeFileSync(join(cwd, 'hooked.json'), JSON.stringify(webhookWorkflow(fields, { type: 'github' })));
    const deployed = await call('deploy', 'hooked.json', '--name', 'hooked');
    expect(deployed.stderr).toMatch(/^! The webhook of "Clock" could not be created .*--origin/m);
    const hookUrl = /http\S+/.exec(stdout)?.[0] ?? '';
    expect(await call('webhooks', 'deliveries', 'hook')).toMatchObject({
      exit: 0,
      stderr: 'No deliveries.\n',
    });
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"a":1}' };
    const { runId } = (await (await fetch(hookUrl, init)).json()) as { runId: string };
    const listed = await call('webhooks', 'deliveries', 'hook', '--json');
    const [delivery] = (JSON.parse(listed.stdout) as { data: { id: string; runId: string }[] }).data;
    expect(delivery).toMatchObject({ runId, duplicates: 0 });

    const replay = await call('webhooks', 'replay', 'hook', delivery?.id ?? '');
    expect(replay).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });
    const table = await call('webhooks', 'deliveries', 'hook', '--limit', '1');
    expect(table.stdout.trim().split('\n')).toHaveLength(2);
    expect(table.stdout).toMatch(/^RECEIVED +EVENT +RUN +DUPLICATES +FLOW +ID\n/);
    const unknown = await call('webhooks', 'deliveries', 'other');
    expect(unknown).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('The workspace has no webhook "other"'),
    });
  });

  it('shows the decisions of flow control, pauses triggers of all types, and creates webhooks at its origin', async () => {
    const cwd = dataFolder();
    const providers = await hookProviders();
    onTestFinished(() => providers.close());
    const flowControl = { throttle: { limit: 1, seconds: 3600, excess: 'drop' }, key: 'k' };
    writeFileSync(join(cwd, 'hook.json'), JSON.stringify(webhookWorkflow({ flowControl })));
    const options = ['--origin', ORIGIN, '--service', `github=${providers.services.github}`];
    const { url, workspaceId, key } = await startServe(['--grace', '1', ...options], { cwd });
    const env = { HEDDLE_URL: url, HEDDLE_WORKSPACE: workspaceId, HEDDLE_API_KEY: key };
    const call = (...args: string[]) => heddle(args, { cwd, env });
    expect(await call('triggers', 'list')).toMatchObject({ exit: 0, stderr: 'No triggers.\n' });
    expect(await call('deploy', 'hook.json', '--name', 'hook')).toMatchObject({ exit: 0 });
    expect((await call('triggers', 'list')).stdout).toMatch(
      /^WORKFLOW +BLOCK +TYPE +STATE +ID +EXPIRES +ERROR\nhook +Clock +generic_webhook +active +\S+ +- *\n$/,
    );
    expect(await call('triggers', 'events', 'hook')).toMatchObject({ exit: 0, stderr: 'No events.\n' });
    const publicUrl = /http\S+/.exec((await call('webhooks', 'list')).stdout)?.[0] ?? '';
    const prefix = `${ORIGIN}/api/webhooks/trigger/`;
    expect(publicUrl).toContain(prefix);
    const hookUrl = publicUrl.replace(ORIGIN, url);
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"k":"a"}' };
    for (let n = 0; n < 2; n += 1) expect((await fetch(hookUrl, init)).status).toBe(200);
    const events = await call('triggers', 'events', 'hook');
    expect(events.stdout).toMatch(/^RECEIVED +KEY +STATE +REASON +RUN\n\S+ +a +dropped +throttle +\S+\n/);
    expect((await call('webhooks', 'deliveries', 'hook')).stdout).toContain('dropped (throttle)');
    expect(await call('triggers', 'pause', 'hook')).toMatchObject({
      stderr: 'The trigger of hook (Clock) is paused.\n',
    });
    expect((await fetch(hookUrl, init)).status).toBe(404);
    expect((await call('triggers', 'resume', 'hook')).stderr).toContain('is active');

    const add = ['credentials', 'add', 'Hub', '--provider', 'github'];
    const added = await heddle(add, { cwd, env, input: HOOK_CREDENTIALS.github });
    const fields = { triggerCredentials: added.stdout.trim(), owner: 'ada', repo: 'loom' };
    writeFileSync(join(cwd, 'hooked.json'), JSON.stringify(webhookWorkflow(fields, { type: 'github' })));
    expect(await call('deploy', 'hooked.json', '--name', 'hooked')).toMatchObject({ exit: 0 });
    await expect
      .poll(() => providers.hooks, { timeout: 20_000 })
      .toMatchObject([{ owner: 'ada/loom', url: expect.stringContaining(prefix) }]);
  });
});

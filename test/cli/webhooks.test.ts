import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, startHeddleServe } from '../support/heddle.ts';
import { HOOK_CREDENTIALS, startHookProviders } from '../support/hook-providers.ts';
import { createWebhookWorkflow } from '../triggers/webhook-setup.ts';

const ORIGIN = 'https://flows.heddle.test';

describe('heddle webhooks and heddle triggers', { timeout: 120_000 }, () => {
  it('list webhooks and deliveries, and replay a delivery', async () => {
    const cwd = createDataFolder();
    writeFileSync(join(cwd, 'hook.json'), JSON.stringify(createWebhookWorkflow({})));
    const { url, workspaceId, key } = await startHeddleServe(['--grace', '1'], { cwd });
    const env = { HEDDLE_URL: url, HEDDLE_WORKSPACE: workspaceId, HEDDLE_API_KEY: key };
    const run = (...args: string[]) => runHeddle(args, { cwd, env });
    expect(await run('webhooks', 'list')).toMatchObject({ exitCode: 0, stderr: 'No webhooks.\n' });
    const checkResult = await run('check', 'hook.json');
    expect(checkResult.stdout).toContain('anyone who knows the URL of the webhook can start runs');
    expect(await run('deploy', 'hook.json', '--name', 'hook')).toMatchObject({ exitCode: 0 });

    const { stdout } = await run('webhooks', 'list');
    expect(stdout).toMatch(
      /^WORKFLOW +BLOCK +STATE +SIGNED +HOOK +LAST +URL +REFUSED\nhook +Clock +active +no +- +- +http/,
    );
    const fields = { triggerCredentials: 'c', owner: 'ada', repo: 'loom' };
    writeFileSync(
      join(cwd, 'hooked.json'),
      JSON.stringify(createWebhookWorkflow(fields, { type: 'github' })),
    );
    const deployResult = await run('deploy', 'hooked.json', '--name', 'hooked');
    expect(deployResult.stderr).toMatch(/^! The webhook of "Clock" could not be created .*--origin/m);
    const hookUrl = /http\S+/.exec(stdout)?.[0] ?? '';
    expect(await run('webhooks', 'deliveries', 'hook')).toMatchObject({
      exitCode: 0,
      stderr: 'No deliveries.\n',
    });
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"a":1}' };
    const { runId } = (await (await fetch(hookUrl, init)).json()) as { runId: string };
    const listResult = await run('webhooks', 'deliveries', 'hook', '--json');
    const [delivery] = (JSON.parse(listResult.stdout) as { data: { id: string; runId: string }[] }).data;
    expect(delivery).toMatchObject({ runId, duplicates: 0 });

    const replayResult = await run('webhooks', 'replay', 'hook', delivery?.id ?? '');
    expect(replayResult).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });
    const tableResult = await run('webhooks', 'deliveries', 'hook', '--limit', '1');
    expect(tableResult.stdout.trim().split('\n')).toHaveLength(2);
    expect(tableResult.stdout).toMatch(/^RECEIVED +EVENT +RUN +DUPLICATES +FLOW +ID\n/);
    const unknownResult = await run('webhooks', 'deliveries', 'other');
    expect(unknownResult).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('The workspace has no webhook "other"'),
    });
  });

  it('show decisions of flow control and pause a trigger, and webhooks are created with the URL of --origin', async () => {
    const cwd = createDataFolder();
    const providers = await startHookProviders();
    onTestFinished(() => providers.close());
    const flowControl = { throttle: { limit: 1, seconds: 3600, excess: 'drop' }, key: 'k' };
    writeFileSync(join(cwd, 'hook.json'), JSON.stringify(createWebhookWorkflow({ flowControl })));
    const options = ['--origin', ORIGIN, '--service', `github=${providers.services.github}`];
    const { url, workspaceId, key } = await startHeddleServe(['--grace', '1', ...options], { cwd });
    const env = { HEDDLE_URL: url, HEDDLE_WORKSPACE: workspaceId, HEDDLE_API_KEY: key };
    const run = (...args: string[]) => runHeddle(args, { cwd, env });
    expect(await run('triggers', 'list')).toMatchObject({ exitCode: 0, stderr: 'No triggers.\n' });
    expect(await run('deploy', 'hook.json', '--name', 'hook')).toMatchObject({ exitCode: 0 });
    expect((await run('triggers', 'list')).stdout).toMatch(
      /^WORKFLOW +BLOCK +TYPE +STATE +ID +EXPIRES +ERROR\nhook +Clock +generic_webhook +active +\S+ +- *\n$/,
    );
    expect(await run('triggers', 'events', 'hook')).toMatchObject({ exitCode: 0, stderr: 'No events.\n' });
    const publicUrl = /http\S+/.exec((await run('webhooks', 'list')).stdout)?.[0] ?? '';
    const prefix = `${ORIGIN}/api/webhooks/trigger/`;
    expect(publicUrl).toContain(prefix);
    const hookUrl = publicUrl.replace(ORIGIN, url);
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"k":"a"}' };
    for (let n = 0; n < 2; n += 1) expect((await fetch(hookUrl, init)).status).toBe(200);
    const eventsResult = await run('triggers', 'events', 'hook');
    expect(eventsResult.stdout).toMatch(
      /^RECEIVED +KEY +STATE +REASON +RUN\n\S+ +a +dropped +throttle +\S+\n/,
    );
    expect((await run('webhooks', 'deliveries', 'hook')).stdout).toContain('dropped (throttle)');
    expect(await run('triggers', 'pause', 'hook')).toMatchObject({
      stderr: 'The trigger of hook (Clock) is paused.\n',
    });
    expect((await fetch(hookUrl, init)).status).toBe(404);
    expect((await run('triggers', 'resume', 'hook')).stderr).toContain('is active');

    const addArgs = ['credentials', 'add', 'Hub', '--provider', 'github'];
    const addResult = await runHeddle(addArgs, { cwd, env, input: HOOK_CREDENTIALS.github });
    const fields = { triggerCredentials: addResult.stdout.trim(), owner: 'ada', repo: 'loom' };
    writeFileSync(
      join(cwd, 'hooked.json'),
      JSON.stringify(createWebhookWorkflow(fields, { type: 'github' })),
    );
    expect(await run('deploy', 'hooked.json', '--name', 'hooked')).toMatchObject({ exitCode: 0 });
    await expect
      .poll(() => providers.hooks, { timeout: 20_000 })
      .toMatchObject([{ resource: 'ada/loom', url: expect.stringContaining(prefix) }]);
  });
});

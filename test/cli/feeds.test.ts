import { expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { draftOf } from '../support/draft.ts';
import { startHeddleServe } from '../support/heddle.ts';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';
import { FAILING_BLOCK } from '../triggers/event-setup.ts';
import { startNewsFeed } from '../triggers/feeds/setup.ts';

const POLL_OPTIONS = { timeout: 60_000, interval: 200 };

interface Log {
  status: string;
}

it('heddle serve polls feeds, and starts runs for workspace events', { timeout: 120_000 }, async () => {
  const news = await startNewsFeed();
  news.items.push({ id: 'second' }, { id: 'first' });
  const egressArgs = ['--allow-host', new URL(news.url).host];
  const { url, key, workspaceId } = await startHeddleServe(['--grace', '1', ...egressArgs], {
    cwd: createDataFolder(),
  });
  const callApi = async <Data>(method: string, path: string, body?: unknown): Promise<Data> => {
    const response = await fetch(`${url}/api/v2${path}`, {
      method,
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const json = (await response.json()) as { data: Data };
    expect(response.ok, JSON.stringify(json)).toBe(true);
    return json.data;
  };
  const deploy = async (workflow: Parameters<typeof draftOf>[0]): Promise<string> => {
    const name = crypto.randomUUID();
    const { id } = await callApi<{ id: string }>('POST', '/workflows', { workspaceId, name });
    await callApi('PUT', `/workflows/${id}/state`, draftOf(workflow));
    await callApi('POST', `/workflows/${id}/deploy`);
    return id;
  };
  const readStatuses = async (id: string) => {
    const logs = await callApi<Log[]>('GET', `/logs?workspaceId=${workspaceId}&workflowIds=${id}`);
    return logs.map(({ status }) => status);
  };
  const eventFields = { eventType: 'execution_error' };
  const eventWorkflowId = await deploy(createTriggerWorkflow(eventFields, { type: 'sim_workspace_event' }));
  const feedFields = { feedUrl: news.url, pollMinutes: 1, backfill: 2 };
  const feedWorkflowId = await deploy(
    createTriggerWorkflow(feedFields, { type: 'rss', lastBlock: FAILING_BLOCK as never }),
  );
  await expect.poll(() => readStatuses(feedWorkflowId), POLL_OPTIONS).toEqual(['failed', 'failed']);
  await expect.poll(() => readStatuses(eventWorkflowId), POLL_OPTIONS).toEqual(['completed', 'completed']);
});

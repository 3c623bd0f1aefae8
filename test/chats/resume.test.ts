import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@heddle/core';
import { ORIGIN, createTestApi } from '../support/api.ts';
import type { TestApi, TestApiOptions } from '../support/api.ts';
import { block, fn, workflow } from '../support/workflow.ts';

const HOSTILE_HTML = '</dd><script>alert(1)</script><img src=x onerror=alert(1)>';
const approvalWorkflow = (fields: JsonObject) =>
  workflow(
    [
      block('Start', 'start_trigger', {}),
      block('Approve', 'human_in_the_loop', {
        builderData: [
          { id: 'a', name: 'summary', type: 'string', value: '<start.text>' },
          { id: 'b', name: 'answer here', type: 'string', value: '<approve.url>' },
        ],
        inputFormat: [
          { id: 'c', name: 'approved', type: 'boolean', required: true },
          { id: 'd', name: 'amount', type: 'number' },
        ],
        ...fields,
      }),
      fn('Done', 'return <approve.submission>'),
    ],
    ['Start -> Approve', 'Approve -> Done'],
  );
const APPROVAL_WORKFLOW = approvalWorkflow({});
const JSON_HEADERS = { 'Content-Type': 'application/json' };

interface PausedRun {
  api: TestApi;
  workflowId: string;
  runId: string;
  /** The path of the page that accepts the answer. */
  path: string;
  token: string;
}

const pauseLinks: NonNullable<NonNullable<TestApiOptions['engineOptions']>['pauseLinks']> = ({
  workflowId,
  runId,
  token,
}) => ({ url: `${ORIGIN}/resume/${workflowId}/${runId}/${token}`, resumeEndpoint: `${ORIGIN}/api/resume/x` });

/** Starts a run that waits for an answer. Reads the URL of the page that accepts the answer as an admin. */
async function startPausedRun(
  options: TestApiOptions = {},
  exportedWorkflow = APPROVAL_WORKFLOW,
): Promise<PausedRun> {
  const api = await createTestApi({ ...options, engineOptions: { ...options.engineOptions, pauseLinks } });
  const workflowId = await api.deploy(exportedWorkflow);
  const startResponse = await api.call<{ runId: string }>('POST', `/api/v2/workflows/${workflowId}/execute`, {
    body: { input: { text: HOSTILE_HTML }, async: true },
  });
  const { runId } = startResponse.data;
  await expect
    .poll(async () => (await api.engine.getRun(runId).catch(() => undefined))?.status)
    .toBe('paused');
  const response = await api.call('GET', `/api/workflows/${workflowId}/paused/${runId}`);
  const { pausePoints } = response.body as {
    pausePoints: { contextId: string; resumeLinks: { uiUrl: string } }[];
  };
  const [point] = pausePoints;
  const path = new URL(point?.resumeLinks.uiUrl ?? '').pathname;
  return { api, workflowId, runId, path, token: point?.contextId ?? '' };
}

function sendAnswer({ api, path }: Pick<PausedRun, 'api' | 'path'>, input: JsonObject, headers = {}) {
  return api.fetch('POST', path, {
    key: null,
    body: { input },
    headers: { ...JSON_HEADERS, ...headers },
  });
}

describe('the page of a pause', () => {
  it('shows the context as text and a form for the input format, and accepts one answer', async () => {
    const run = await startPausedRun();
    const { api, path, runId } = run;
    const page = await api.fetch('GET', path, { key: null });
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const html = await page.text();
    expect(html).toContain('&lt;/dd&gt;&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(html).not.toContain('<img');
    expect(html).toContain('approved (required)');
    expect(
      (await api.fetch('GET', `${path.split('/').slice(0, -1).join('/')}/assets/resume.js`)).status,
    ).toBe(200);
    const wrongResponse = await sendAnswer(run, { approved: true, amount: 'many' });
    expect(wrongResponse.status).toBe(400);
    expect(JSON.stringify(await wrongResponse.json())).toContain('amount');
    expect((await sendAnswer(run, { approved: true, amount: 3 })).status).toBe(200);
    await expect.poll(async () => (await api.engine.getRun(runId)).status).toBe('completed');
    expect((await api.engine.getRun(runId)).output).toMatchObject({ result: { approved: true, amount: 3 } });
    const secondResponse = await sendAnswer(run, { approved: false });
    expect(secondResponse.status).toBe(404);
    expect((await api.fetch('GET', path, { key: null })).status).toBe(404);
  });

  it('shows which notifications were sent, without the reasons', async () => {
    const notification = { type: 'pigeon', title: HOSTILE_HTML, params: { text: '<approve.url>' } };
    const { api, path } = await startPausedRun({}, approvalWorkflow({ notification: [notification] }));
    const html = await (await api.fetch('GET', path, { key: null })).text();
    expect(html).toContain('Notifications: &lt;/dd&gt;&lt;script&gt;');
    expect(html).toContain(': not sent.');
    expect(html).not.toContain('engine');
  });

  it('has a URL that fields of its block can use, and that members with the role read cannot see', async () => {
    const run = await startPausedRun();
    const { api, runId, token, path } = run;
    const [pause] = (await api.engine.getRun(runId)).pauses;
    const output = pause?.output as {
      url: string;
      response: { data: { responseStructure: { value: string }[] } };
    };
    expect(output.url).toBe(ORIGIN + path);
    expect(output.response.data.responseStructure[1]?.value).toBe(ORIGIN + path);
    const userId = await api.store.workspaces.createUser({ email: 'reader@heddle.test', name: 'Reader' });
    await api.store.workspaces.setMember(api.workspaceId, userId, 'read');
    const { key } = await api.store.keys.create({ userId }, 'reader');
    for (const recordPath of [`/api/v2/workflows/${run.workflowId}/runs/${runId}`, `/api/v2/logs/${runId}`]) {
      const response = await api.fetch('GET', recordPath, { key });
      const text = await response.text();
      expect([response.status, text.includes(token)]).toEqual([200, false]);
    }
  });

  it('returns the same response for a wrong token, run or workflow', async () => {
    const { api, workflowId, runId, token } = await startPausedRun();
    const otherWorkflowId = await api.deploy(APPROVAL_WORKFLOW);
    const responses = new Set<string>();
    const paths = [
      `${workflowId}/${runId}/${'x'.repeat(32)}`,
      `${workflowId}/${crypto.randomUUID()}/${token}`,
      `${otherWorkflowId}/${runId}/${token}`,
      `${workflowId}/${runId}`,
      `${workflowId}/${runId}/%ff`,
    ];
    for (const path of paths) {
      const response = await api.fetch('GET', `/resume/${path}`, { key: null });
      responses.add(`${response.status} ${await response.text()}`);
      expect((await sendAnswer({ api, path: `/resume/${path}` }, {})).status).toBe(404);
    }
    expect(responses.size).toBe(1);
    expect((await api.engine.getRun(runId)).status).toBe('paused');
  });

  it('refuses answers from pages of other sites', async () => {
    const run = await startPausedRun();
    expect((await sendAnswer(run, { approved: true }, { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403);
    const formResponse = await run.api.fetch('POST', run.path, {
      key: null,
      rawBody: 'approved=true',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    expect(formResponse.status).toBe(415);
    expect((await run.api.engine.getRun(run.runId)).status).toBe('paused');
  });

  it('is not available after 30 days or after the end of the run', async () => {
    let nowMs = Date.now();
    const run = await startPausedRun({ now: () => nowMs });
    const { api, path, runId } = run;
    nowMs += 31 * 86_400_000;
    expect((await api.fetch('GET', path, { key: null })).status).toBe(404);
    expect((await sendAnswer(run, { approved: true })).status).toBe(404);
    nowMs -= 31 * 86_400_000;
    expect((await api.fetch('GET', path, { key: null })).status).toBe(200);
    await api.engine.cancel(runId);
    expect((await api.fetch('GET', path, { key: null })).status).toBe(404);
  });

  it('records the answer in the audit log', async () => {
    const run = await startPausedRun();
    await sendAnswer(run, { approved: true });
    const events = await run.api.store.audit.listByResource(run.runId);
    expect(events.map(({ action }) => action)).toContain('RUN_RESUMED');
  });
});

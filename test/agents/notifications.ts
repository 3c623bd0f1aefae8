import { blocks } from '@heddle/blocks';
import type { AgentTool, AgentToolCall } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import type { Engine, EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startServices } from '../integrations/services.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { getOnlyPause } from './approvals.ts';
import type { OpenEngine } from './approvals.ts';

/** Opens an engine whose pauses have URLs. */
export type OpenEngineWithLinks = (
  options: Parameters<OpenEngine>[0] & Pick<EngineOptions, 'credentials' | 'pauseLinks'>,
) => ReturnType<OpenEngine>;

const SECRET = 'token-of-slack';
export const pauseLinks: NonNullable<EngineOptions['pauseLinks']> = ({ token }) => ({
  url: `https://heddle.test/resume/${token}`,
});

/** Returns a workflow that sends these notifications, and then waits for a person. */
export function approvalWorkflow(notifications: Json, fields: JsonObject = {}) {
  return workflow(
    [
      block('Approve', 'human_in_the_loop', {
        builderData: [{ name: 'go', type: 'string', value: '<approve.url>' }],
        notification: notifications,
        ...fields,
      }),
      fn('Done', 'return <approve.submission>'),
    ],
    ['Start -> Approve', 'Approve -> Done'],
  );
}

export const TELL_NOTIFICATION: JsonObject = {
  type: 'tell',
  title: 'Tell',
  params: { text: 'Answer at <approve.url>' },
};

/** Returns the tool `tell`, which sends a notification with `run`. */
export function notificationTool(run: (args: JsonObject, call: AgentToolCall) => Promise<Json>): AgentTool {
  const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
  return { id: 'tell', description: 'Tells.', parameters, run };
}

interface PauseData {
  notifications: Json;
  responseStructure: { value: string }[];
}

export function pauseDataOf(output: Json): PauseData {
  return (output as unknown as { response: { data: PauseData } }).response.data;
}

/** Defines the tests of notification tools of pauses. */
export function describeNotifications(environment: string, openEngine: OpenEngineWithLinks): void {
  describe(`${environment}, the notifications of a pause`, () => {
    it('are sent once with the URL of the pause before it opens, and each failure is recorded', async () => {
      const services = await startServices();
      onTestFinished(() => services.close());
      services.respondNext('github', { status: 500, body: { message: `No, ${SECRET}!` } }, 9);
      const notificationArgs: JsonObject[] = [];
      const tools = [
        notificationTool(async (args) => {
          notificationArgs.push(args);
          return null;
        }),
        {
          ...notificationTool(() => Promise.reject(new Error('never'))),
          id: 'guarded',
          requireApproval: true,
        },
      ];
      const engine = await openEngine({
        ...{ blocks: blocks({ tools }), services: services.baseUrls, pauseLinks },
        credentials: { slack: SECRET, github: 'token-of-github' },
        env: { CHANNEL: { value: 'C0123456789', secret: false }, SECRET },
      });
      const slackParams = { channel: '{{CHANNEL}}', text: 'See <approve.url> {{SECRET}}' };
      const issueParams = { owner: 'o', repo: 'r', title: 't' };
      const configs = [
        TELL_NOTIFICATION,
        { type: 'slack', operation: 'send', params: slackParams },
        { type: 'slack', params: { ...slackParams, channel: 'C9' } },
        { type: 'carrier_pigeon' },
        { type: 'guarded', params: { text: 'x' } },
        { type: 'tell', params: {} },
        { type: 'workflow_input', params: { workflowId: 'w' } },
        { type: 'github', operation: 'github_create_issue', params: issueParams },
        { ...TELL_NOTIFICATION, usageControl: 'none' },
      ];
      const { runId, result } = await engine.start({ workflow: approvalWorkflow(configs) });
      expect(await result()).toMatchObject({ status: 'paused' });
      const pause = await getOnlyPause(engine, runId);
      const url = `https://heddle.test/resume/${pause.token}`;
      const { notifications, responseStructure } = pauseDataOf(pause.output);
      expect(responseStructure).toMatchObject([{ value: url }]);
      expect(notificationArgs).toEqual([{ text: `Answer at ${url}` }]);
      const slackRequests = services.requests.filter(({ path }) => path === '/chat.postMessage');
      const text = `See ${url} ${SECRET}`;
      const bodies = ['C0123456789', 'C9'].map((channel) => ({ channel, text }));
      expect(slackRequests.map(({ body }) => body)).toEqual(expect.arrayContaining(bodies));
      expect(slackRequests).toHaveLength(2);
      expect(notifications).toEqual([
        { type: 'tell', title: 'Tell', status: 'sent' },
        { type: 'slack', status: 'sent' },
        { type: 'slack', status: 'failed', error: expect.stringContaining('channel_not_found') as string },
        {
          type: 'carrier_pigeon',
          status: 'failed',
          error: expect.stringContaining('"carrier_pigeon"') as string,
        },
        { type: 'guarded', status: 'failed', error: expect.stringContaining('approval') as string },
        { type: 'tell', status: 'failed', error: expect.stringContaining('"text"') as string },
        { type: 'workflow_input', status: 'failed', error: expect.stringContaining('workflow') as string },
        { type: 'github', status: 'failed', error: expect.stringContaining('500') as string },
      ]);
      const { output, status } = await engine.resume(runId, { token: pause.token, input: { ok: true } });
      expect([status, output]).toMatchObject(['completed', { result: { ok: true } }]);
      expect(notificationArgs).toHaveLength(1);
      const logs = await engine.getLogs(runId);
      expect(JSON.stringify([await engine.getRun(runId), logs])).not.toContain(SECRET);
    });

    it('are not sent again if the response is lost, because they may have arrived', async () => {
      const services = await startServices();
      onTestFinished(() => services.close());
      services.dropNextResponses('slack', 1);
      const engine = await openEngine({
        ...{ blocks: blocks(), services: services.baseUrls, pauseLinks, credentials: { slack: SECRET } },
      });
      const params = { operation: 'send', channel: 'C0123456789', text: '<approve.url>' };
      const { runId, result } = await engine.start({
        workflow: approvalWorkflow([{ type: 'slack', params }]),
      });
      await result();
      const { output } = await getOnlyPause(engine, runId);
      expect(pauseDataOf(output).notifications).toMatchObject([{ type: 'slack', status: 'unknown' }]);
      expect(services.requests).toHaveLength(1);
    });
  });
}

/** Starts a process that runs blocks with these options, on the same store as the previous process. */
type StartProcess = (
  options: Pick<EngineOptions, 'blocks' | 'pauseLinks'>,
) => Promise<{ engine: Engine; stop(): Promise<void> }>;

/** Defines tests of a pause whose process is closed during one notification, after another one has been sent. */
export function describeInterruptedPauses(prepareStore: () => Promise<StartProcess>): void {
  describe('a pause whose process is closed during a notification', () => {
    it.each([
      ['an interrupted notification may have been sent, and is not repeated', false],
      ['an interrupted notification is repeated if its tool allows it', true],
    ])('opens with the sent URL: %s', async (_, idempotent) => {
      const notificationArgs: JsonObject[] = [];
      const idempotencyKeys: string[] = [];
      const { promise: slowCallPromise, resolve: onSlowCall } = Promise.withResolvers<void>();
      const tool = notificationTool(async (args) => {
        notificationArgs.push(args);
        return null;
      });
      const slowTool = notificationTool(async (_args, { idempotencyKey, signal }) => {
        idempotencyKeys.push(idempotencyKey);
        if (idempotencyKeys.length > 1) return null;
        onSlowCall();
        return rejectOnAbort(signal);
      });
      const tools = [tool, { ...slowTool, id: 'slow', idempotent }];
      const options = { blocks: blocks({ tools }), pauseLinks };
      const startProcess = await prepareStore();
      const firstProcess = await startProcess(options);
      const configs = [TELL_NOTIFICATION, { ...TELL_NOTIFICATION, type: 'slow', title: 'Slow' }];
      const { runId } = await firstProcess.engine.start({ workflow: approvalWorkflow(configs) });
      await slowCallPromise;
      await expect.poll(() => notificationArgs).toHaveLength(1);
      await firstProcess.stop();
      const { engine } = await startProcess(options);
      expect(await (await engine.attach(runId)).result()).toMatchObject({ status: 'paused' });
      const { token, output } = await getOnlyPause(engine, runId);
      expect(notificationArgs).toEqual([{ text: `Answer at https://heddle.test/resume/${token}` }]);
      const [key] = idempotencyKeys;
      expect(idempotencyKeys).toEqual(idempotent ? [key, key] : [key]);
      expect(pauseDataOf(output).notifications).toMatchObject([
        { title: 'Tell', status: 'sent' },
        { title: 'Slow', status: idempotent ? 'sent' : 'unknown' },
      ]);
    });
  });
}

/** Rejects when the signal is aborted. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}

import { randomBytes } from 'node:crypto';
import type { Engine } from '@heddle/engine';
import type { Encryption } from '@heddle/temporal';
import { expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { openClient, fetchHistoryText } from './history.ts';
import { createCluster } from './cluster.ts';

const POLL_OPTIONS = { timeout: 30_000 };
const [key1, key2] = [randomBytes(32), randomBytes(32)];
const SECRET = 'sk-very-secret';
const LARGE_TEXT = 'large-'.repeat(2000);
const TOPIC_FORMAT = [{ id: 't', name: 'topic', type: 'string' }];

const child = workflow([fn('Inner', 'return "about " + <start.topic>')], ['Start -> Inner'], {
  id: 'child-of-ada',
  name: 'Child of Ada',
  inputFormat: TOPIC_FORMAT,
});

/** A workflow that computes, runs an effect, uses a secret, a large value, a child and a pause, and fails. */
const parent = workflow(
  [
    fn('Weave', 'return { said: <start.topic> + "!", key: "{{API_KEY}}" }'),
    work('Effort'),
    fn('Large', `return ${JSON.stringify(LARGE_TEXT)}`),
    block('Call', 'workflow_input', { workflowId: 'child-of-ada', inputMapping: '{"topic": "linen"}' }),
    block('Ask', 'human_in_the_loop', {}),
    fn('Tear', 'throw new Error("torn by " + <ask.note>)'),
  ],
  ['Start -> Weave -> Effort -> Large -> Call -> Ask -> Tear'],
  { id: 'parent-of-ada', name: 'Parent of Ada', inputFormat: TOPIC_FORMAT },
);

/** Runs `parent` to its end. Returns the histories of the run and of its child as text, and the token of its pause. */
async function runAndReadHistories(
  server: { address: string; namespace: string },
  engine: Engine,
): Promise<{ text: string; token: string }> {
  await engine.deploy(child);
  const run = await engine.execute({ workflow: parent }, { topic: 'wool' });
  expect(run).toMatchObject({ status: 'paused' });
  const { token = '' } = (await engine.getRun(run.runId)).pauses[0] ?? {};
  const endedRun = await engine.resume(run.runId, { input: { note: 'moths' } });
  expect(endedRun).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('moths') as string },
  });
  const { runs } = await engine.listRuns();
  expect(runs).toHaveLength(2);
  const client = await openClient(server);
  const texts = await Promise.all(runs.map(({ runId }) => fetchHistoryText(client, runId)));
  return { text: texts.join('\n'), token };
}

describeTemporal('the data on the server', (server) => {
  const blocks = [new ScriptedExecutor({ Effort: () => ({ output: { of: 'linen and silk' } }) }).executor];

  it('without encryption contains no secrets, large values, error messages or tokens', async () => {
    const cluster = createCluster(server);
    const engine = await cluster.openEngine({ blocks, env: { API_KEY: SECRET } }, { worker: true });
    const { text, token } = await runAndReadHistories(server, engine);
    // Small outputs are in the history until they are stored.
    expect(text).toContain('wool!');
    for (const hiddenText of [SECRET, LARGE_TEXT.slice(0, 600), 'torn by', token]) {
      expect(text.includes(hiddenText), hiddenText.slice(0, 30)).toBe(false);
    }
  });

  it('with encryption contains ids, types and key ids, but no data of a run', async () => {
    const cluster = createCluster(server);
    const encryption: Encryption = { keyId: 'key-1', keys: { 'key-1': key1 } };
    const engine = await cluster.openEngine(
      { blocks, env: { API_KEY: SECRET } },
      { worker: true, encryption },
    );
    const { text, token } = await runAndReadHistories(server, engine);
    for (const plainText of ['heddle.run', 'work', 'key-1']) expect(text).toContain(plainText);
    const names = ['Weave', 'Effort', 'Large', 'Call', 'Ask', 'Tear', 'Inner', 'of Ada'];
    for (const hiddenText of [
      'wool',
      'linen',
      'silk',
      'moths',
      'torn',
      'skeleton',
      SECRET,
      token,
      'large-',
      ...names,
    ]) {
      expect(text.includes(hiddenText), hiddenText).toBe(false);
    }
  });

  it('encrypted with a key that a worker does not have suspends the run until a worker with the key starts, and the run names the key', async () => {
    const cluster = createCluster(server);
    const [oldEncryption, newEncryption] = [
      { keyId: 'key-1', keys: { 'key-1': key1 } },
      { keyId: 'key-2', keys: { 'key-1': key1, 'key-2': key2 } },
    ];
    const engine = await cluster.openEngine({}, { encryption: oldEncryption });
    const keylessWorker = await cluster.startWorker({ onError: () => undefined });
    const run = await engine.start({ workflow: workflow([fn('A', 'return 1')], ['Start -> A']) });
    await expect
      .poll(() => engine.getRun(run.runId), POLL_OPTIONS)
      .toMatchObject({
        suspended: expect.stringMatching(/encrypted with the key "key-1".*no keys/) as string,
      });
    await keylessWorker.stop({ drainMs: 0 });
    await cluster.startWorker({ encryption: newEncryption });
    await expect
      .poll(() => engine.getRun(run.runId), POLL_OPTIONS)
      .toMatchObject({ status: 'completed', suspended: null, output: { result: 1 } });
  });
});

import { expect, it } from 'vitest';
import { openServiceStore, tenantIsolation, testApi } from '../support/api.ts';
import { ECHO, FILE } from '../support/api-files.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, workflow } from '../support/workflow.ts';
import { clientOf, historyText } from './history.ts';
import { createCluster } from './cluster.ts';

interface ExecuteResult {
  runId: string;
  output: { data: { doc: { id: string; base64?: string }[]; text?: string } };
}

const PASS_ON = workflow(
  [block('Reply', 'response', { dataMode: 'json', data: '{"doc": <start.doc>}' })],
  ['Start -> Reply'],
  { inputFormat: [{ name: 'doc', type: 'file[]' }] },
);
const TEXT = 'kept in the stores, and nowhere else';

describeTemporal('files of an input', (server) => {
  it.each([
    ['passed on', PASS_ON, TEXT, false],
    ['read by a worker', ECHO, TEXT.repeat(500), true],
  ])('stay in the stores and out of histories, when they are %s', async (_how, exported, text, isRead) => {
    const cluster = createCluster(server);
    const store = await openServiceStore();
    const engine = await cluster.engine(tenantIsolation(store));
    await cluster.worker(tenantIsolation(store));
    const api = await testApi({ engine, store });
    const path = `/api/v2/workflows/${await api.deploy(exported)}`;
    const content = Buffer.from(text).toString('base64');
    const input = { doc: { ...FILE, data: `data:text/plain;base64,${content}` } };
    const { data } = await api.call<ExecuteResult>('POST', `${path}/execute`, { body: { input } });
    const { doc, text: readText } = data.output.data;
    expect(doc).toMatchObject([{ name: 'abc.txt', base64: content }]);
    expect(readText).toBe(isRead ? content : undefined);
    const history = await historyText(await clientOf(server), data.runId);
    expect(history).toContain(data.runId);
    expect(history).not.toContain(content.slice(0, 40));
    const bytes = await api.fetch('GET', `${path}/runs/${data.runId}/files/${doc[0]?.id}`);
    expect(await bytes.text()).toBe(text);
  });
});

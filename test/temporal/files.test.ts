import { expect, it } from 'vitest';
import { openServiceStore, tenantOptionsOf, createTestApi } from '../support/api.ts';
import { ECHO_WORKFLOW, FILE } from '../support/api-files.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, workflow } from '../support/workflow.ts';
import { openClient, fetchHistoryText } from './history.ts';
import { createCluster } from './cluster.ts';

interface ExecuteResult {
  runId: string;
  output: { data: { doc: { id: string; base64?: string }[]; text?: string } };
}

const PASS_ON_WORKFLOW = workflow(
  [block('Reply', 'response', { dataMode: 'json', data: '{"doc": <start.doc>}' })],
  ['Start -> Reply'],
  { inputFormat: [{ name: 'doc', type: 'file[]' }] },
);
const TEXT = 'kept in the stores, and nowhere else';

describeTemporal('files of an input', (server) => {
  it.each([
    ['passed on', PASS_ON_WORKFLOW, TEXT, false],
    ['read by a worker', ECHO_WORKFLOW, TEXT.repeat(500), true],
  ])(
    'stay in the stores and out of histories, when they are %s',
    async (_description, definition, text, isRead) => {
      const cluster = createCluster(server);
      const store = await openServiceStore();
      const engine = await cluster.openEngine(tenantOptionsOf(store));
      await cluster.startWorker(tenantOptionsOf(store));
      const api = await createTestApi({ engine, store });
      const path = `/api/v2/workflows/${await api.deploy(definition)}`;
      const content = Buffer.from(text).toString('base64');
      const input = { doc: { ...FILE, data: `data:text/plain;base64,${content}` } };
      const { data } = await api.call<ExecuteResult>('POST', `${path}/execute`, { body: { input } });
      const { doc, text: readText } = data.output.data;
      expect(doc).toMatchObject([{ name: 'abc.txt', base64: content }]);
      expect(readText).toBe(isRead ? content : undefined);
      const history = await fetchHistoryText(await openClient(server), data.runId);
      expect(history).toContain(data.runId);
      expect(history).not.toContain(content.slice(0, 40));
      const fileResponse = await api.fetch('GET', `${path}/runs/${data.runId}/files/${doc[0]?.id}`);
      expect(await fileResponse.text()).toBe(text);
    },
  );
});

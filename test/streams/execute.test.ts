import { describe, expect, it } from 'vitest';
import { createTestApi } from '../support/api.ts';
import { ScriptedExecutor } from '../support/scripted-executor.ts';
import { expectStreamed, readSseData } from './execute.ts';
import { STORE_OPTION_FACTORIES } from './store-options.ts';
import { SECRET } from './secret.ts';
import { TALK_WORKFLOW, createTalkExecutor, WORDS } from './talk.ts';

describe.each(Object.entries(STORE_OPTION_FACTORIES))(
  'a streamed execution over HTTP, with an engine on %s',
  (_name, createStoreOptions) => {
    it('contains the text of a selected block while the block runs, in each iteration, without secrets', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engineOptions = {
        ...(await createStoreOptions()),
        ...{ env: { KEY: SECRET }, blocks: [scriptedExecutor.executor] },
      };
      await expectStreamed(await createTestApi({ engineOptions }), scriptedExecutor);
    });

    it('contains the text of a run that ends before the response begins', async () => {
      const runEnd = Promise.withResolvers<void>();
      const engineOptions = { ...(await createStoreOptions()), blocks: [createTalkExecutor()] };
      const api = await createTestApi({ engineOptions });
      const { engine } = api;
      const startRun = engine.start.bind(engine);
      engine.start = async (...args) => {
        const run = await startRun(...args);
        await run.result().then(() => runEnd.resolve());
        return run;
      };
      const id = await api.deploy(TALK_WORKFLOW);
      const response = await api.fetch('POST', `/api/v2/workflows/${id}/execute`, {
        headers: { 'X-Sim-Stream-Protocol': 'agent-events-v1' },
        body: { stream: true, selectedOutputs: ['T.content'] },
      });
      await runEnd.promise;
      const events: unknown[] = [];
      for await (const event of readSseData(response)) events.push(event);
      expect(events.slice(0, WORDS.length)).toEqual(WORDS.map((chunk) => ({ chunk })));
      expect(events.at(-2)).toMatchObject({ event: 'final', data: { success: true } });
    });
  },
);

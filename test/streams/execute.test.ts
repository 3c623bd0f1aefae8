import { describe, expect, it } from 'vitest';
import { testApi } from '../support/api.ts';
import { Script } from '../support/script.ts';
import { expectStreamed, framesOf } from './execute.ts';
import { STORE_OPTIONS } from './store-options.ts';
import { SECRET } from './secret.ts';
import { TALK, talkExecutor, WORDS } from './talk.ts';

describe.each(Object.entries(STORE_OPTIONS))(
  'a streamed execution over HTTP, with an engine on %s',
  (_name, createStoreOptions) => {
    it('contains the text of a selected block while the block runs, in each iteration, without secrets', async () => {
      const script = new Script();
      const engineOptions = {
        ...(await createStoreOptions()),
        ...{ env: { KEY: SECRET }, blocks: [script.executor] },
      };
      await expectStreamed(await testApi({ engineOptions }), script);
    });

    it('contains the text of a run that ends before the response begins', async () => {
      const ended = Promise.withResolvers<void>();
      const engineOptions = { ...(await createStoreOptions()), blocks: [talkExecutor()] };
      const api = await testApi({ engineOptions });
      const { engine } = api;
      const start = engine.start.bind(engine);
      engine.start = async (...args) => {
        const run = await start(...args);
        await run.result().then(() => ended.resolve());
        return run;
      };
      const id = await api.deploy(TALK);
      const response = await api.fetch('POST', `/api/v2/workflows/${id}/execute`, {
        headers: { 'X-Sim-Stream-Protocol': 'agent-events-v1' },
        body: { stream: true, selectedOutputs: ['T.content'] },
      });
      await ended.promise;
      const chunks: unknown[] = [];
      for await (const frame of framesOf(response)) chunks.push(frame);
      expect(chunks.slice(0, WORDS.length)).toEqual(WORDS.map((chunk) => ({ chunk })));
      expect(chunks.at(-2)).toMatchObject({ event: 'final', data: { success: true } });
    });
  },
);

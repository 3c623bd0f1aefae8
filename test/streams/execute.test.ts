import { describe, it } from 'vitest';
import { testApi } from '../support/api.ts';
import { Script } from '../support/scripted.ts';
import { expectStreamed } from './execute.ts';
import { LOCATIONS } from './locations.ts';
import { SECRET } from './secret.ts';

describe.each(Object.entries(LOCATIONS))(
  'a streamed execution over HTTP, with an engine on %s',
  (_name, locate) => {
    it('has the text of a selected block while it runs, by iteration and without secrets', async () => {
      const script = new Script();
      const engineOptions = { ...(await locate()), env: { KEY: SECRET }, blocks: [script.executor] };
      await expectStreamed(await testApi({ engineOptions }), script);
    });
  },
);

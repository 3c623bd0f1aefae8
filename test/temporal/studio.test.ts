import { randomUUID } from 'node:crypto';
import { describe } from 'vitest';
import { accessibilityFlows } from '../studio/flows/accessibility.ts';
import { keyboardFlows } from '../studio/flows/keyboard.ts';
import { pageFlows } from '../studio/flows/pages.ts';
import { runFlows } from '../studio/flows/run.ts';
import { studioFlows } from '../studio/flows/studio.ts';
import { chromiumTool } from '../support/browser.ts';
import type { ServeArgs } from '../studio/setup.ts';
import { dataFolder } from '../support/data-folder.ts';
import { sample } from '../support/scale.ts';
import { describeTemporal } from '../support/temporal.ts';
import { ON_TEMPORAL } from './cli.ts';

const FLOWS = [
  { name: 'with the keyboard only', flows: keyboardFlows },
  { name: 'in a browser', flows: studioFlows },
  { name: 'the page of a run', flows: runFlows },
  { name: 'pages', flows: pageFlows },
  { name: 'accessibility', flows: accessibilityFlows },
];

describeTemporal('the Studio over runs on Temporal', ({ address, namespace }) => {
  const store: ServeArgs = (whenDone) => {
    const options = ['--address', address, '--namespace', namespace, '--queue', `studio-${randomUUID()}`];
    return Promise.resolve([...ON_TEMPORAL, ...options, '--data', dataFolder(whenDone)]);
  };
  const all = sample(FLOWS, 1, 'flows of the Studio on Temporal');
  describe.skipIf(!chromiumTool).each(all)('$name', ({ flows }) => {
    flows(store);
  });
});

import { randomUUID } from 'node:crypto';
import { describe } from 'vitest';
import { defineAccessibilityTests } from '../studio/flows/accessibility.ts';
import { defineKeyboardTests } from '../studio/flows/keyboard.ts';
import { definePageTests } from '../studio/flows/pages.ts';
import { defineRunTests } from '../studio/flows/run.ts';
import { defineStudioTests } from '../studio/flows/studio.ts';
import { chromiumTool } from '../support/browser.ts';
import type { GetServeArgs } from '../studio/setup.ts';
import { dataFolder } from '../support/data-folder.ts';
import { sample } from '../support/scale.ts';
import { describeTemporal } from '../support/temporal.ts';
import { ON_TEMPORAL } from './cli.ts';

const FLOWS = [
  { name: 'with the keyboard only', flows: defineKeyboardTests },
  { name: 'in a browser', flows: defineStudioTests },
  { name: 'the page of a run', flows: defineRunTests },
  { name: 'pages', flows: definePageTests },
  { name: 'accessibility', flows: defineAccessibilityTests },
];

describeTemporal('the Studio with runs on Temporal', ({ address, namespace }) => {
  const getServeArgs: GetServeArgs = (whenDone) => {
    const options = ['--address', address, '--namespace', namespace, '--queue', `studio-${randomUUID()}`];
    return Promise.resolve([...ON_TEMPORAL, ...options, '--data', dataFolder(whenDone)]);
  };
  const sampledFlows = sample(FLOWS, 1, 'flows of the Studio on Temporal');
  describe.skipIf(!chromiumTool).each(sampledFlows)('$name', ({ flows }) => {
    flows(getServeArgs);
  });
});

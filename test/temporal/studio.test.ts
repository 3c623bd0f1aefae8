import { randomUUID } from 'node:crypto';
import { describe } from 'vitest';
import { defineAccessibilityTests } from '../studio/flows/accessibility.ts';
import { defineKeyboardTests } from '../studio/flows/keyboard.ts';
import { definePageTests } from '../studio/flows/pages.ts';
import { defineRunTests } from '../studio/flows/run.ts';
import { defineStudioTests } from '../studio/flows/studio.ts';
import { chromiumTool } from '../support/browser.ts';
import type { GetServeArgs } from '../studio/setup.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { sample } from '../support/scale.ts';
import { describeTemporal } from '../support/temporal.ts';
import { TEMPORAL_RUNTIME_ARGS } from './cli.ts';

const FLOWS = [
  { name: 'with the keyboard only', defineTests: defineKeyboardTests },
  { name: 'in a browser', defineTests: defineStudioTests },
  { name: 'the page of a run', defineTests: defineRunTests },
  { name: 'pages', defineTests: definePageTests },
  { name: 'accessibility', defineTests: defineAccessibilityTests },
];

describeTemporal('the Studio with runs on Temporal', ({ address, namespace }) => {
  const getServeArgs: GetServeArgs = (registerCleanup) => {
    const serverArgs = ['--address', address, '--namespace', namespace, '--queue', `studio-${randomUUID()}`];
    return Promise.resolve([
      ...TEMPORAL_RUNTIME_ARGS,
      ...serverArgs,
      '--data',
      createDataFolder(registerCleanup),
    ]);
  };
  const sampledFlows = sample(FLOWS, 1, 'flows of the Studio on Temporal');
  describe.skipIf(!chromiumTool).each(sampledFlows)('$name', ({ defineTests }) => {
    defineTests(getServeArgs);
  });
});

import { blocks } from '@heddle/blocks';
import { expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { createCluster } from './cluster.ts';

const MODEL = { model: 'local/scripted' };

/** A chain of two routers, a guardrails block and a logs block. */
const ROUTED_WORKFLOW = workflow(
  [
    block('Route', 'router_v2', {
      ...MODEL,
      context: '<start.text>',
      routes: [
        { id: 'left', title: 'Left' },
        { id: 'right', title: 'Right' },
      ],
    }),
    fn('Never', 'return 0'),
    block('Older', 'router', { ...MODEL, prompt: '<route.selectedRoute>' }),
    fn('Skipped', 'return 0'),
    block('Check', 'guardrails', { validationType: 'regex', input: '<start.text>', regex: '^it ' }),
    block('Log', 'logs', { workflowId: 'routed' }),
    fn('End', 'return [<check.passed>, Array.isArray(<log.runs>), <older.selectedPath.blockTitle>]'),
  ],
  [
    'Start -> Route',
    'Route:router-left -> Never',
    'Route:router-right -> Older',
    'Older -> Skipped',
    'Older -> Check -> Log -> End',
  ],
  { id: 'routed' },
);

describeTemporal('routers, guardrails and logs', (server) => {
  it('run on workers and take the branches that the model chooses', async () => {
    const modelServer = await startModelServer(({ body }) => {
      const route = JSON.stringify(body).includes('"Check"') ? 'Check' : 'right';
      return { text: JSON.stringify({ answer: { reasoning: 'x', route } }) };
    });
    onTestFinished(() => modelServer.close());
    const cluster = createCluster(server);
    const engine = await cluster.openEngine();
    await cluster.startWorker({ blocks: blocks(), services: modelServer.services });
    await engine.deploy(ROUTED_WORKFLOW);
    const run = await engine.execute('routed', { text: 'it is so' });
    expect(run).toMatchObject({ status: 'completed', output: { result: [true, true, 'Check'] } });
    const logs = await engine.getLogs(run.runId);
    const blockNames = logs.map(({ blockName }) => blockName);
    expect(blockNames).toEqual(['Start', 'Route', 'Older', 'Check', 'Log', 'End']);
    expect(modelServer.requests).toHaveLength(2);
  });
});

import { expect, it } from 'vitest';
import { block, loop, workflow } from '../../support/workflow.ts';
import { startStudio } from '../setup.ts';
import type { GetServeArgs } from '../setup.ts';

const LONG_LOOP = workflow(
  [
    loop(
      'L',
      { loopType: 'for', count: 100_000 },
      block('Count', 'variables', {
        variables: [{ variableName: 'n', type: 'number', value: '<loop.index>' }],
      }),
    ),
  ],
  ['Start -> L -> Count'],
  { variables: { n: { type: 'number', value: 0 } } },
);

/** Defines the test of a run that lasts a minute. */
export function defineIterationTests(getServeArgs: GetServeArgs): void {
  const studio = startStudio({ getServeArgs });

  it('shows the last of 100,000 iterations', { timeout: 600_000 }, async () => {
    const workflowId = await studio.deploy('Very often', LONG_LOOP);
    const runId = await studio.run(workflowId, { async: true });
    const readStatus = async (): Promise<string> => {
      const path = `/api/v2/workflows/${workflowId}/runs/${runId}`;
      return (await studio.call<{ status: string }>('GET', path)).status;
    };
    await expect.poll(readStatus, { interval: 1000, timeout: 500_000 }).toBe('completed');
    const loopId = await studio.findBlockId(runId, 'L');
    const page = await studio.context.newPage();
    await page.goto(`${studio.url}/runs/${runId}?span=${encodeURIComponent(loopId)}`);
    const iterations = page.getByRole('region', { name: 'Iterations' });
    await iterations.getByText('All 100000').waitFor();
    await iterations.getByLabel('Go to #').fill('99999');
    await page.keyboard.press('Enter');
    await page.getByText('L #99999').waitFor();
    await page.getByRole('region', { name: 'Graph' }).getByText('Count', { exact: true }).waitFor();
    expect(await page.evaluate<number>('document.querySelectorAll("*").length')).toBeLessThan(1500);
    await page.close();
  });
}

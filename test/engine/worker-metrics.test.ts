import { createSandbox } from '@heddle/sandbox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formatPrometheusMetrics } from '../../packages/temporal/src/worker/metrics.ts';
import type { WorkerStatus } from '../../packages/temporal/src/worker/status.ts';

const status: WorkerStatus = {
  state: 'polling',
  roles: ['engine'],
  activityCount: 2,
  workflowTaskCount: 1,
  cachedWorkflowCount: 3,
  taskCounters: [{ task: 'effect', type: 'a "b"\n', local: false, done: 2, failed: 1, seconds: 0.5 }],
  sandbox: null,
};

/** Returns the samples of a Prometheus text by name and labels. */
function samplesOf(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

describe('the metrics of a worker', () => {
  it('each have a type and escaped labels', () => {
    const text = formatPrometheusMetrics(status);
    expect(text).toContain('heddle_worker_state{state="polling"} 1\n');
    expect(text).toContain(
      'heddle_tasks_total{task="effect",type="a \\"b\\"\\n",local="false",outcome="done"} 2\n',
    );
    expect(text).not.toContain('heddle_sandbox');
    const names = [...text.matchAll(/^(\w+)[{ ]/gm)].map(([, name]) => name);
    for (const name of names) expect(text).toContain(`# TYPE ${name} `);
  });

  it('include the sandbox once it has started', async () => {
    const sandbox = createSandbox({ maxProcesses: 1, recycle: { jobs: 2 } });
    onTestFinished(() => sandbox.close());
    for (const code of ['return 1', 'throw 1']) await sandbox.run({ runId: 'r', code });
    await expect.poll(() => sandbox.stats().processes).toBe(0);
    const text = formatPrometheusMetrics({ ...status, sandbox: sandbox.stats() });
    const samples = samplesOf(text);
    const valueOf = (name: string): number | undefined => samples.get(`heddle_sandbox_${name}`);
    expect([
      valueOf('processes{language="javascript"}'),
      valueOf('jobs_running{language="python"}'),
      valueOf('jobs_queued{language="native"}'),
      valueOf('jobs_ended_total{outcome="OK"}'),
      valueOf('jobs_ended_total{outcome="USER_ERROR"}'),
      valueOf('queue_total{language="javascript"}'),
      valueOf('start_total{language="javascript"}'),
      valueOf('processes_ended_total{language="javascript",reason="jobs"}'),
    ]).toEqual([0, 0, 0, 1, 1, 2, 1, 1]);
    const { wall, peakRssMiB } = sandbox.stats().metrics.javascript;
    expect(valueOf('wall_seconds_total{language="javascript"}')).toBeCloseTo(wall.totalMs / 1000);
    expect(valueOf('peak_memory_bytes{language="javascript"}')).toBeCloseTo(peakRssMiB * 2 ** 20);
  });
});

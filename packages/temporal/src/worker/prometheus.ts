import { sandboxFigures } from './sandbox-figures.ts';
import type { Sample } from './sandbox-figures.ts';
import type { Tally } from './meter.ts';
import type { WorkerStatus } from './status.ts';

const STATES = ['polling', 'draining', 'stopped', 'failed'] as const;

/** A worker's figures in the text format of Prometheus (version 0.0.4). */
export function prometheusText(status: WorkerStatus): string {
  const { state, activities, workflowTasks, cachedWorkflows, tallies } = status;
  return [
    ...metric('heddle_worker_state', 'gauge', 'The state that the worker is in has 1.', [
      ...STATES.map((one) => ({ labels: { state: one }, value: one === state ? 1 : 0 })),
    ]),
    ...metric('heddle_activities_running', 'gauge', 'Activities that run now.', [{ value: activities }]),
    ...metric('heddle_workflow_tasks_running', 'gauge', 'Workflow tasks that run now.', [
      { value: workflowTasks },
    ]),
    ...metric('heddle_workflows_cached', 'gauge', 'Workflows that are kept in memory.', [
      { value: cachedWorkflows },
    ]),
    ...metric(
      'heddle_tasks_total',
      'counter',
      'Tasks that have ended: segments of blocks that compute, effects, and records that were written.',
      tallies.flatMap((tally) => [
        { labels: { ...labelsOf(tally), outcome: 'done' }, value: tally.done },
        { labels: { ...labelsOf(tally), outcome: 'failed' }, value: tally.failed },
      ]),
    ),
    ...metric(
      'heddle_task_seconds_total',
      'counter',
      'Seconds that these tasks have taken.',
      tallies.map((tally) => ({ labels: labelsOf(tally), value: tally.seconds })),
    ),
    ...(status.sandbox === null ? [] : sandboxFigures(status.sandbox)).flatMap(
      ({ name, type, help, samples }) => metric(name, type, help, samples),
    ),
    ...metric('process_resident_memory_bytes', 'gauge', 'Memory of the process.', [
      { value: process.memoryUsage.rss() },
    ]),
    '',
  ].join('\n');
}

function metric(name: string, type: 'gauge' | 'counter', help: string, samples: Sample[]): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(({ labels = {}, value }) => `${name}${braces(labels)} ${value}`),
  ];
}

function braces(labels: { [name: string]: string }): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function labelsOf({ task, type, local }: Tally): { [name: string]: string } {
  return { task, type, local: String(local) };
}

import type { SandboxStatus, WorkerStatus } from './status.ts';
import type { TaskCounter } from './task-meter.ts';

interface Metric {
  name: string;
  type: 'gauge' | 'counter';
  help: string;
  samples: Sample[];
}

interface Sample {
  labels?: { [name: string]: string };
  value: number;
}

const STATES = ['polling', 'draining', 'stopped', 'failed'] as const;

const MIB = 2 ** 20;

const GAUGES = [
  ['processes', 'processes', 'Sandbox processes.'],
  ['jobs_queued', 'queued', 'Jobs that wait for a process.'],
  ['jobs_running', 'running', 'Jobs that run.'],
] as const;

const DURATIONS = [
  ['queue', 'Total time for which jobs waited for a process.'],
  ['start', 'Total start time of processes.'],
  ['cpu', 'Total CPU time of jobs.'],
  ['wall', 'Total time of jobs from start to result.'],
] as const;

/** Returns a worker's metrics in the text format of Prometheus (version 0.0.4). */
export function prometheusText(status: WorkerStatus): string {
  const sandbox = status.sandbox === null ? [] : sandboxMetrics(status.sandbox);
  return [...workerMetrics(status), ...sandbox, memoryMetric()].flatMap(formatMetric).concat('').join('\n');
}

function workerMetrics(status: WorkerStatus): Metric[] {
  const { state, activities, workflowTasks, cachedWorkflows, taskCounters } = status;
  const gauge = (name: string, help: string, value: number): Metric => ({
    ...{ name, type: 'gauge', help },
    samples: [{ value }],
  });
  return [
    {
      ...{ name: 'heddle_worker_state', type: 'gauge', help: "1 for the worker's current state." },
      samples: STATES.map((each) => ({ labels: { state: each }, value: each === state ? 1 : 0 })),
    },
    gauge('heddle_activities_running', 'Running activities.', activities),
    gauge('heddle_workflow_tasks_running', 'Running workflow tasks.', workflowTasks),
    gauge('heddle_workflows_cached', 'Workflows cached in memory.', cachedWorkflows),
    {
      ...{ name: 'heddle_tasks_total', type: 'counter' },
      help: 'Completed tasks: segments of compute blocks, effects, and written records.',
      samples: taskCounters.flatMap((counter) => [
        { labels: { ...labelsOf(counter), outcome: 'done' }, value: counter.done },
        { labels: { ...labelsOf(counter), outcome: 'failed' }, value: counter.failed },
      ]),
    },
    {
      ...{ name: 'heddle_task_seconds_total', type: 'counter', help: 'Total duration of completed tasks.' },
      samples: taskCounters.map((counter) => ({ labels: labelsOf(counter), value: counter.seconds })),
    },
  ];
}

function labelsOf({ task, type, local }: TaskCounter): { [name: string]: string } {
  return { task, type, local: String(local) };
}

/** Returns the metrics of the sandbox by language. `native` stands for all code in native images. */
function sandboxMetrics({ languages, metrics, totals }: SandboxStatus): Metric[] {
  const names = Object.keys(languages) as (keyof typeof languages)[];
  const languageMetric = (
    type: Metric['type'],
    name: string,
    help: string,
    value: (language: (typeof names)[number]) => number,
  ): Metric => ({
    ...{ name: `heddle_sandbox_${name}`, type, help },
    samples: names.map((language) => ({ labels: { language }, value: value(language) })),
  });
  const endedProcesses = names.flatMap((language) =>
    Object.entries(metrics[language].ended).map(([reason, value]) => ({
      labels: { language, reason },
      value,
    })),
  );
  return [
    ...GAUGES.map(([name, key, help]) => languageMetric('gauge', name, help, (lang) => languages[lang][key])),
    {
      ...{ name: 'heddle_sandbox_jobs_ended_total', type: 'counter' },
      help: 'Completed jobs, by OK or error code.',
      samples: Object.entries(totals).map(([outcome, value]) => ({ labels: { outcome }, value })),
    },
    ...DURATIONS.flatMap(([name, help]) => [
      languageMetric('counter', `${name}_seconds_total`, help, (lang) => metrics[lang][name].totalMs / 1000),
      languageMetric(
        'counter',
        `${name}_total`,
        `Number of durations in heddle_sandbox_${name}_seconds_total.`,
        (lang) => metrics[lang][name].count,
      ),
    ]),
    languageMetric('gauge', 'peak_memory_bytes', 'Peak memory of a process.', (lang) => {
      return metrics[lang].peakRssMiB * MIB;
    }),
    {
      ...{ name: 'heddle_sandbox_processes_ended_total', type: 'counter' },
      help: 'Ended processes, by reason.',
      samples: endedProcesses,
    },
  ];
}

function memoryMetric(): Metric {
  return {
    ...{ name: 'process_resident_memory_bytes', type: 'gauge', help: 'Resident memory of the process.' },
    samples: [{ value: process.memoryUsage.rss() }],
  };
}

function formatMetric({ name, type, help, samples }: Metric): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(({ labels = {}, value }) => `${name}${formatLabels(labels)} ${value}`),
  ];
}

function formatLabels(labels: { [name: string]: string }): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escape(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escape(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

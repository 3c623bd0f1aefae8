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
export function formatPrometheusMetrics(status: WorkerStatus): string {
  const sandbox = status.sandbox === null ? [] : sandboxMetrics(status.sandbox);
  return [...workerMetrics(status), ...sandbox, memoryMetric()].flatMap(formatMetric).concat('').join('\n');
}

function workerMetrics(status: WorkerStatus): Metric[] {
  const { state, activityCount, workflowTaskCount, cachedWorkflowCount, taskCounters } = status;
  const toGauge = (name: string, help: string, value: number): Metric => ({
    ...{ name, type: 'gauge', help },
    samples: [{ value }],
  });
  return [
    {
      ...{ name: 'heddle_worker_state', type: 'gauge', help: "1 for the worker's current state." },
      samples: STATES.map((label) => ({ labels: { state: label }, value: label === state ? 1 : 0 })),
    },
    toGauge('heddle_activities_running', 'Running activities.', activityCount),
    toGauge('heddle_workflow_tasks_running', 'Running workflow tasks.', workflowTaskCount),
    toGauge('heddle_workflows_cached', 'Workflows cached in memory.', cachedWorkflowCount),
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
  const languageNames = Object.keys(languages) as (keyof typeof languages)[];
  const toLanguageMetric = (
    type: Metric['type'],
    name: string,
    help: string,
    readValue: (language: (typeof languageNames)[number]) => number,
  ): Metric => ({
    ...{ name: `heddle_sandbox_${name}`, type, help },
    samples: languageNames.map((language) => ({ labels: { language }, value: readValue(language) })),
  });
  const endedProcesses = languageNames.flatMap((language) =>
    Object.entries(metrics[language].ended).map(([reason, value]) => ({
      labels: { language, reason },
      value,
    })),
  );
  return [
    ...GAUGES.map(([name, key, help]) =>
      toLanguageMetric('gauge', name, help, (lang) => languages[lang][key]),
    ),
    {
      ...{ name: 'heddle_sandbox_jobs_ended_total', type: 'counter' },
      help: 'Completed jobs, by OK or error code.',
      samples: Object.entries(totals).map(([outcome, value]) => ({ labels: { outcome }, value })),
    },
    ...DURATIONS.flatMap(([name, help]) => [
      toLanguageMetric(
        'counter',
        `${name}_seconds_total`,
        help,
        (lang) => metrics[lang][name].totalMs / 1000,
      ),
      toLanguageMetric(
        'counter',
        `${name}_total`,
        `Number of durations in heddle_sandbox_${name}_seconds_total.`,
        (lang) => metrics[lang][name].count,
      ),
    ]),
    toLanguageMetric('gauge', 'peak_memory_bytes', 'Peak memory of a process.', (lang) => {
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
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabelValue(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabelValue(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

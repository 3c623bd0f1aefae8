import type { SandboxStatus } from './status.ts';

/** A value, with what it is of. */
export interface Sample {
  labels?: { [name: string]: string };
  value: number;
}

/** Something that is measured. */
interface Figure {
  name: string;
  type: 'gauge' | 'counter';
  help: string;
  samples: Sample[];
}

const MIB = 2 ** 20;

const COUNTS = [
  ['processes', 'processes', 'Processes in which code runs.'],
  ['jobs_queued', 'queued', 'Jobs that wait for a process.'],
  ['jobs_running', 'running', 'Jobs inside of processes.'],
] as const;

const DURATIONS = [
  ['queue', 'waits of jobs for a process'],
  ['start', 'starts of processes'],
  ['cpu', 'processor time of jobs'],
  ['wall', 'jobs, from their first entry to their answer'],
] as const;

/** What is measured of code, by language; `native` is all that runs in native images. */
export function sandboxFigures({ languages, metrics, totals }: SandboxStatus): Figure[] {
  const known = Object.keys(languages) as (keyof typeof languages)[];
  const of = (
    type: Figure['type'],
    name: string,
    help: string,
    value: (language: (typeof known)[number]) => number,
  ): Figure => ({
    ...{ name: `heddle_sandbox_${name}`, type, help },
    samples: known.map((language) => ({ labels: { language }, value: value(language) })),
  });
  const ended = known.flatMap((language) =>
    Object.entries(metrics[language].ended).map(([reason, value]) => ({
      labels: { language, reason },
      value,
    })),
  );
  return [
    ...COUNTS.map(([name, key, help]) => of('gauge', name, help, (language) => languages[language][key])),
    {
      ...{ name: 'heddle_sandbox_jobs_ended_total', type: 'counter' },
      help: 'Jobs that have ended, by OK or the code of their failure.',
      samples: Object.entries(totals).map(([outcome, value]) => ({ labels: { outcome }, value })),
    },
    ...DURATIONS.flatMap(([name, what]) => [
      of(
        'counter',
        `${name}_seconds_total`,
        `Seconds: ${what}.`,
        (language) => metrics[language][name].totalMs / 1000,
      ),
      of(
        'counter',
        `${name}_total`,
        `How many there were: ${what}.`,
        (language) => metrics[language][name].count,
      ),
    ]),
    of(
      'gauge',
      'peak_memory_bytes',
      'The most memory that a process has had.',
      (language) => metrics[language].peakRssMiB * MIB,
    ),
    {
      ...{ name: 'heddle_sandbox_processes_ended_total', type: 'counter' },
      help: 'Processes that have ended, by reason.',
      samples: ended,
    },
  ];
}

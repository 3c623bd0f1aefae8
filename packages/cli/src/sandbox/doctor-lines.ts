import type { IsolationCheck, IsolationLevel, IsolationReport, SandboxVersions } from '@heddle/sandbox';
import { safeLine } from '../render/style.ts';
import type { Style } from '../render/style.ts';
import { table } from '../render/table.ts';

/** What `heddle sandbox doctor` found. */
export interface Diagnosis extends IsolationReport {
  readonly minimum: IsolationLevel;
  /** Whether the minimum is reached. */
  readonly met: boolean;
  readonly versions: SandboxVersions;
  /** Of one job and of one process, by default. */
  readonly limits: {
    readonly job: Readonly<Record<string, number>>;
    readonly process: Readonly<Record<string, number>>;
  };
}

function mark({ result }: IsolationCheck, style: Style): string {
  if (result === 'ok') return style.green('✓');
  return result === 'failed' ? style.red('✗') : style.dim('·');
}

/** A check, and under it what to do. */
function checkLines(check: IsolationCheck, style: Style): string[] {
  const line = `${mark(check, style)} ${safeLine(check.found)}`;
  return check.remedy === undefined ? [line] : [line, `  ${style.yellow('→')} ${safeLine(check.remedy)}`];
}

function values(title: string, each: Readonly<Record<string, number | string>>, style: Style): string[] {
  const rows = Object.entries(each).map(([name, value]) => [`  ${name}`, value.toLocaleString('en-US')]);
  return ['', style.bold(title), ...table(rows)];
}

const NO_NATIVE =
  '  Native images need strict: Debian packages, command-line tools, and packages without a build for the isolate.';

/** The diagnosis for a person. */
export function doctorLines(diagnosis: Diagnosis, style: Style): string[] {
  const { level, minimum, met, checks, versions, limits } = diagnosis;
  const verdict = met ? style.green('✓') : style.red('✗');
  const said = met ? `the minimum is ${minimum}` : `the minimum ${minimum} is not met`;
  return [
    `${verdict} Code is confined at the level ${style.bold(level)}; ${said}.`,
    ...(level === 'strict' ? [] : [NO_NATIVE]),
    '',
    ...checks.flatMap((check) => checkLines(check, style)),
    ...values('Versions', { ...versions }, style),
    ...values('Limits of a job', limits.job, style),
    ...values('Limits of a process', limits.process, style),
  ];
}

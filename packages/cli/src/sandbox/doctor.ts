import {
  checkControlGroup,
  DEFAULT_LIMITS,
  DEFAULT_RLIMITS,
  probeIsolation,
  sandboxVersions,
} from '@heddle/sandbox';
import type { IsolationCheck, IsolationLevel, IsolationReport, SandboxVersions } from '@heddle/sandbox';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { sanitizeLine, styleFor } from '../render/style.ts';
import type { Style } from '../render/style.ts';
import { tableLines } from '../render/table.ts';

export interface DoctorOptions {
  minimum: IsolationLevel;
  bubblewrap?: string;
  json: boolean;
}

/** Checks how well this host isolates code. Returns 0 if the minimum is met, else 1. */
export async function doctor(io: Io, { minimum, bubblewrap, json }: DoctorOptions): Promise<number> {
  const report = await probeIsolation({ minimum, ...(bubblewrap !== undefined && { bubblewrap }) });
  const diagnosis: Diagnosis = {
    ...report,
    checks: [...report.checks, ...checkControlGroup()],
    minimum,
    met: report.reasons[minimum] === undefined,
    versions: sandboxVersions(),
    limits: { job: { ...DEFAULT_LIMITS }, process: { ...DEFAULT_RLIMITS } },
  };
  if (json) writeJson(io, { data: diagnosis });
  else io.stdout.write(`${doctorLines(diagnosis, styleFor(io.stdout)).join('\n')}\n`);
  return diagnosis.met ? EXIT.completed : EXIT.failed;
}

/** Result of the checks. */
interface Diagnosis extends IsolationReport {
  readonly minimum: IsolationLevel;
  /** True if the host reaches the minimum. */
  readonly met: boolean;
  readonly versions: SandboxVersions;
  /** Default limits of a job and of a process. */
  readonly limits: {
    readonly job: Readonly<Record<string, number>>;
    readonly process: Readonly<Record<string, number>>;
  };
}

function resultMark({ result }: IsolationCheck, style: Style): string {
  if (result === 'ok') return style.green('✓');
  return result === 'failed' ? style.red('✗') : style.dim('·');
}

/** Returns the lines of a check and its hint. */
function checkLines(check: IsolationCheck, style: Style): string[] {
  const line = `${resultMark(check, style)} ${sanitizeLine(check.found)}`;
  return check.hint === undefined ? [line] : [line, `  ${style.yellow('→')} ${sanitizeLine(check.hint)}`];
}

function sectionLines(
  title: string,
  values: Readonly<Record<string, number | string>>,
  style: Style,
): string[] {
  const rows = Object.entries(values).map(([name, value]) => [`  ${name}`, value.toLocaleString('en-US')]);
  return ['', style.bold(title), ...tableLines(rows)];
}

const NATIVE_IMAGES_NOTE =
  '  Native images need the level strict: Debian packages, command-line tools, and packages without a build for the isolate.';

/** Returns the result as text. */
function doctorLines(diagnosis: Diagnosis, style: Style): string[] {
  const { level, minimum, met, checks, versions, limits } = diagnosis;
  const verdict = met ? style.green('✓') : style.red('✗');
  const requirement = met ? `the minimum is ${minimum}` : `the minimum ${minimum} is not met`;
  return [
    `${verdict} The isolation level is ${style.bold(level)}; ${requirement}.`,
    ...(level === 'strict' ? [] : [NATIVE_IMAGES_NOTE]),
    '',
    ...checks.flatMap((check) => checkLines(check, style)),
    ...sectionLines('Versions', { ...versions }, style),
    ...sectionLines('Limits of a job', limits.job, style),
    ...sectionLines('Limits of a process', limits.process, style),
  ];
}

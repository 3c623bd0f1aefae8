import {
  checkControlGroup,
  DEFAULT_LIMITS,
  DEFAULT_RLIMITS,
  probeIsolation,
  sandboxVersions,
} from '@heddle/sandbox';
import type { IsolationLevel } from '@heddle/sandbox';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { styleFor } from '../render/style.ts';
import { doctorLines, type Diagnosis } from './doctor-lines.ts';

export interface DoctorOptions {
  minimum: IsolationLevel;
  bubblewrap?: string;
  json: boolean;
}

/** Shows how far this host confines code; 0 where the minimum is met, else 1. */
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

import { failure, type SandboxFailure } from '../outcome.ts';
import type { Job } from './job.ts';

/** Why a job failed whose process was silent for too long; `isTimed`: all of that was processor time. */
export function overdueFailure({ job, isTimed }: { job: Job; isTimed: boolean }): SandboxFailure {
  const { cpuMs, wallMs } = job.limits;
  const end = 'and could not be interrupted; its process was killed.';
  return isTimed
    ? failure('TIMEOUT_CPU', `The code ran for more than its ${cpuMs} ms of processor time ${end}`)
    : failure('TIMEOUT_WALL', `The code did not finish within ${wallMs} ms ${end}`);
}

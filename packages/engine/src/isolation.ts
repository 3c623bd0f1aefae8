import { EngineError } from '@heddle/core';
import type { EngineOptions } from './options.ts';

/**
 * Checks that the host confines code as strictly as the options require. Loads nothing if they set no minimum.
 * Throws ISOLATION_TOO_LOW with the reasons, and OPTIONS_INVALID for contradictory options.
 */
export async function requireIsolation({ sandbox }: Pick<EngineOptions, 'sandbox'>): Promise<void> {
  const isolation = sandbox?.isolation;
  const level = isolation?.level ?? 'best';
  const minimum = isolation?.minimum ?? (level === 'best' ? undefined : level);
  if (isolation === undefined || minimum === undefined) return;
  const { probeIsolation, isSandboxError } = await import('@heddle/sandbox');
  const report = await probeIsolation(isolation).catch((error: unknown) => {
    if (isSandboxError(error)) throw new EngineError('OPTIONS_INVALID', error.message);
    throw error;
  });
  const reasons = report.reasons[minimum];
  if (reasons === undefined) return;
  throw new EngineError(
    'ISOLATION_TOO_LOW',
    `This host confines code at the level ${report.level}, and ${minimum} is the minimum. ${reasons.join(' ')}`,
  );
}

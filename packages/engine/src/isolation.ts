import { EngineError } from '@heddle/core';
import type { EngineOptions } from './options.ts';

/**
 * Looks whether the host confines code as far as the options ask; without a minimum nothing is loaded.
 * Throws ISOLATION_TOO_LOW with the reasons, and OPTIONS_INVALID.
 */
export async function requireIsolation({ sandbox }: Pick<EngineOptions, 'sandbox'>): Promise<void> {
  const asked = sandbox?.isolation;
  const level = asked?.level ?? 'best';
  const minimum = asked?.minimum ?? (level === 'best' ? undefined : level);
  if (asked === undefined || minimum === undefined) return;
  const { probeIsolation, isSandboxError } = await import('@heddle/sandbox');
  const report = await probeIsolation(asked).catch((error: unknown) => {
    if (isSandboxError(error)) throw new EngineError('OPTIONS_INVALID', error.message);
    throw error;
  });
  const reasons = report.reasons[minimum];
  if (reasons === undefined) return;
  throw new EngineError(
    'ISOLATION_TOO_LOW',
    `Code is confined at the level ${report.level} here, and ${minimum} is the minimum. ${reasons.join(' ')}`,
  );
}

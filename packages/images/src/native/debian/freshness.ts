import type { BuildContext } from '../../builder.ts';
import { ImageError } from '../../error.ts';
import type { Archive } from './archives.ts';

/** Metadata in a release file. */
export interface ReleaseInfo {
  /** Names of the suite, such as `oldstable` and `bookworm`. */
  readonly names: readonly string[];
  readonly date: string | undefined;
  readonly validUntil: string | undefined;
}

const DAY_MS = 24 * 3_600_000;
/** Tolerance for clock differences. */
const CLOCK_TOLERANCE_MS = 3_600_000;
/** Tolerance for servers behind one host name, which are not updated simultaneously. */
const UPDATE_TOLERANCE_MS = DAY_MS;

const parseDate = (text: string | undefined, name: string): number | undefined => {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (!Number.isNaN(ms)) return ms;
  throw new ImageError(
    'integrity_error',
    `The release file of ${name} has the invalid date "${text.slice(0, 50)}".`,
  );
};

const formatUtc = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');

/**
 * Checks that a release file belongs to the requested suite and is current. A signature proves neither: an old file
 * with outdated packages is signed too.
 * @throws ImageError integrity_error for another suite, a date in the future, an expired file, or one older than a file
 * seen before.
 */
export function checkRelease(
  { names, date, validUntil }: ReleaseInfo,
  { archive, name, isSigned }: { archive: Archive; name: string; isSigned: boolean },
  context: Pick<BuildContext, 'now' | 'updateMaximum'>,
): void {
  const fail = (problem: string): never => {
    throw new ImageError('integrity_error', `The release file of ${name} ${problem}`);
  };
  const { suite, mirrorUrl, isSnapshot } = archive;
  if (names.length > 0 && !names.includes(suite)) fail(`is for ${names.join(', ')}.`);
  const [dateMs, validUntilMs] = [parseDate(date, name), parseDate(validUntil, name)];
  const nowMs = context.now();
  if ((dateMs ?? 0) > nowMs + CLOCK_TOLERANCE_MS)
    fail(`has a date in the future (${date}): check the clock of this host.`);
  // A snapshot is supposed to be old.
  if (isSnapshot) return;
  if (validUntilMs !== undefined && validUntilMs < nowMs)
    fail(
      `expired at ${formatUtc(validUntilMs)} UTC: the mirror is outdated. If it is a dated snapshot, set registries.debian.snapshot, or Check-Valid-Until: no in apt's sources.`,
    );
  // An unsigned file must not make later ones look outdated.
  if (dateMs === undefined || !isSigned) return;
  // Records the date, and returns the newest date of earlier files.
  const newestMs = context.updateMaximum(`release ${mirrorUrl} ${suite}`, dateMs);
  if (newestMs !== undefined && dateMs < newestMs - UPDATE_TOLERANCE_MS)
    fail(
      `is dated ${formatUtc(dateMs)} UTC, but one dated ${formatUtc(newestMs)} UTC was seen before: the mirror offers outdated packages. If it is a dated snapshot, set registries.debian.snapshot.`,
    );
}

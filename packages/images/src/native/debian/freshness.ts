import type { BuildContext } from '../../builder.ts';
import { ImageError } from '../../error.ts';
import type { Archive } from './archives.ts';

/** What a release file says of itself, besides its files. */
export interface Stated {
  /** Of the suite: such as `oldstable` and `bookworm`. */
  readonly names: readonly string[];
  readonly date: string | null;
  readonly validUntil: string | null;
}

const DAY_MS = 24 * 3_600_000;
/** Clocks differ. */
const AHEAD_MS = 3_600_000;
/** Machines behind one name are not brought up to date at once. */
const BEHIND_MS = DAY_MS;

const timeOf = (text: string | null, name: string): number | null => {
  if (text === null) return null;
  const ms = Date.parse(text);
  if (!Number.isNaN(ms)) return ms;
  throw new ImageError(
    'integrity_error',
    `The release file of ${name} has the date "${text.slice(0, 50)}", which is none.`,
  );
};

const shown = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');

/**
 * Whether a release file is of the suite that was asked for, and of today: a signature says nothing about either, and an old
 * file with its old packages is signed as well as a new one.
 * @throws ImageError integrity_error for another suite, one of the future, one that has expired, one older than was seen before.
 */
export function checkRelease(
  { names, date, validUntil }: Stated,
  { archive, name, isSigned }: { archive: Archive; name: string; isSigned: boolean },
  context: Pick<BuildContext, 'now' | 'largest'>,
): void {
  const refuse = (fault: string): never => {
    throw new ImageError('integrity_error', `The release file of ${name} ${fault}`);
  };
  const { suite, root, isSnapshot } = archive;
  if (names.length > 0 && !names.includes(suite)) refuse(`is that of ${names.join(', ')}.`);
  const [dateMs, untilMs] = [timeOf(date, name), timeOf(validUntil, name)];
  const nowMs = context.now();
  if ((dateMs ?? 0) > nowMs + AHEAD_MS) refuse(`is of the future (${date}): look at the clock of this host.`);
  // A mirror of another day is asked for what was then.
  if (isSnapshot) return;
  if (untilMs !== null && untilMs < nowMs)
    refuse(
      `expired at ${shown(untilMs)} UTC: the mirror is not kept up to date. For one that is a snapshot of another day, say so (registries.debian.snapshot, or Check-Valid-Until: no in apt's sources).`,
    );
  // What nobody signed must not make later ones look old.
  if (dateMs === null || !isSigned) return;
  const newestMs = context.largest(`release ${root} ${suite}`, dateMs);
  if (newestMs !== null && dateMs < newestMs - BEHIND_MS)
    refuse(
      `is of ${shown(dateMs)} UTC, and one of ${shown(newestMs)} UTC was seen before: somebody offers what is no longer current. For a mirror that is a snapshot of another day, say so (registries.debian.snapshot).`,
    );
}

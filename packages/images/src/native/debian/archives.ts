import { existsSync } from 'node:fs';
import type { Registries } from '../../builder.ts';

/** One archive of Debian packages: a suite of a mirror. */
export interface Archive {
  /** The URL of the mirror, with a slash at its end. */
  readonly root: string;
  readonly suite: string;
  readonly components: readonly string[];
  /** The file of the keys by one of which it has to be signed; null: none is known. */
  readonly keyring: string | null;
  /** Whether an archive without a signature is refused. */
  readonly mustBeSigned: boolean;
  /** Whether it is one of another day, and so is its release file. */
  readonly isSnapshot: boolean;
}

/** Settings of the Debian archives. */
export type DebianSettings = NonNullable<Registries['debian']>;

/** The release that images are made of where nothing else is said. */
const SUITE = 'bookworm';
const MIRROR = 'https://deb.debian.org/debian';
const SECURITY = 'https://deb.debian.org/debian-security';
const KEYRINGS = [
  '/usr/share/keyrings/debian-archive-keyring.gpg',
  '/usr/share/keyrings/debian-archive-keyring.pgp',
];

/** The keys of Debian on this host, or null. */
export function debianKeyring(): string | null {
  return KEYRINGS.find((file) => existsSync(file)) ?? null;
}

const slashed = (url: string): string => (url.endsWith('/') ? url : `${url}/`);

/**
 * Where the system packages of images come from: the mirror that is configured, else Debian's own with its security archive. A
 * mirror that is configured without keys is taken without a signature too; Debian's own is not, where the host has the keys.
 */
export function archivesOf({
  mirror,
  security,
  suite = SUITE,
  keyring,
  snapshot = false,
}: DebianSettings = {}): Archive[] {
  const keys = keyring ?? debianKeyring();
  const isOurs = mirror === undefined;
  const common = {
    components: ['main'],
    keyring: keys,
    mustBeSigned: keyring !== undefined || (isOurs && keys !== null),
    isSnapshot: snapshot,
  };
  const main = { ...common, root: slashed(mirror ?? MIRROR), suite };
  const patches = security ?? (isOurs ? SECURITY : undefined);
  if (patches === undefined) return [main];
  return [main, { ...common, root: slashed(patches), suite: `${suite}-security` }];
}

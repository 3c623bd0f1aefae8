import { existsSync } from 'node:fs';
import type { Registries } from '../../builder.ts';

/** A Debian archive: a suite of a mirror. */
export interface Archive {
  /** URL of the mirror, with a trailing slash. */
  readonly mirrorUrl: string;
  readonly suite: string;
  readonly components: readonly string[];
  /** Keyring whose keys may sign the archive; undefined if none is known. */
  readonly keyring: string | undefined;
  /** True if the archive must have a valid signature; otherwise it is refused. */
  readonly mustBeSigned: boolean;
  /** True if the archive is a dated snapshot, whose release file may be old. */
  readonly isSnapshot: boolean;
}

/** Settings of the Debian archives. */
export type DebianSettings = NonNullable<Registries['debian']>;

/** Default suite: the Debian release of images. */
const DEFAULT_SUITE = 'bookworm';
const DEFAULT_MIRROR = 'https://deb.debian.org/debian';
const DEFAULT_SECURITY_MIRROR = 'https://deb.debian.org/debian-security';
const KEYRINGS = [
  '/usr/share/keyrings/debian-archive-keyring.gpg',
  '/usr/share/keyrings/debian-archive-keyring.pgp',
];

/** Returns the path of this host's Debian keyring, or undefined. */
export function debianKeyring(): string | undefined {
  return KEYRINGS.find((file) => existsSync(file));
}

const withTrailingSlash = (url: string): string => (url.endsWith('/') ? url : `${url}/`);

/**
 * Returns the archives of system packages: the configured mirror, otherwise Debian's own with its security archive. A
 * configured mirror without a keyring need not be signed; Debian's own must be if the host has the keys.
 */
export function archivesOf({
  mirror,
  security,
  suite = DEFAULT_SUITE,
  keyring,
  snapshot = false,
}: DebianSettings = {}): Archive[] {
  const keyringPath = keyring ?? debianKeyring();
  const isDefault = mirror === undefined;
  const commonFields = {
    components: ['main'],
    keyring: keyringPath,
    mustBeSigned: keyring !== undefined || (isDefault && keyringPath !== undefined),
    isSnapshot: snapshot,
  };
  const mainArchive = { ...commonFields, mirrorUrl: withTrailingSlash(mirror ?? DEFAULT_MIRROR), suite };
  const securityMirror = security ?? (isDefault ? DEFAULT_SECURITY_MIRROR : undefined);
  if (securityMirror === undefined) return [mainArchive];
  return [
    mainArchive,
    { ...commonFields, mirrorUrl: withTrailingSlash(securityMirror), suite: `${suite}-security` },
  ];
}

import type { BuildContext } from '../../builder.ts';
import { ImageError, isImageError } from '../../error.ts';
import { MAX_INDEX_BYTES } from '../limits.ts';
import type { Archive } from './archives.ts';
import { readParagraph } from './control.ts';
import { checkRelease, type Stated } from './freshness.ts';
import { verifySigned } from './signature.ts';

/** What an archive says of itself. */
export interface Release {
  /** Path below the suite's folder → SHA-256. */
  readonly files: ReadonlyMap<string, string>;
  /** Whether files are also found by their digests, where they stay while the archive changes. */
  readonly byHash: boolean;
  /** Sentences for the author of the spec. */
  readonly warnings: readonly string[];
}

function readRelease(text: string): Omit<Release, 'warnings'> & Stated {
  const fields = readParagraph(text);
  const lines = (fields.get('sha256') ?? '').split('\n').map((line) => line.trim().split(/\s+/));
  const files = new Map<string, string>();
  for (const [digest = '', , path] of lines)
    if (path !== undefined && /^[0-9a-f]{64}$/.test(digest)) files.set(path, digest);
  const names = ['suite', 'codename'].flatMap((field) => fields.get(field) ?? []);
  const [date = null, validUntil = null] = [fields.get('date'), fields.get('valid-until')];
  return { files, byHash: fields.get('acquire-by-hash') === 'yes', names, date, validUntil };
}

async function page(url: string, context: BuildContext): Promise<Uint8Array | null> {
  const { status, body } = await context.fetchPage(url, { maxBytes: MAX_INDEX_BYTES });
  if (status === 404 || status === 410) return null;
  if (status === 200) return body;
  throw new ImageError('registry_unavailable', `${new URL(url).host} answered ${status} for ${url}.`);
}

/** The signed part of InRelease, whatever stands around it. */
function clearText(inRelease: string): string {
  const match =
    /-----BEGIN PGP SIGNED MESSAGE-----\r?\n(?:.+\r?\n)*\r?\n([^]*?)-----BEGIN PGP SIGNATURE-----/.exec(
      inRelease,
    );
  return (match?.[1] ?? inRelease).replace(/^- /gm, '');
}

/** The text of a signed release file; `why`: why nobody can tell that it is, where that may be. Throws ImageError integrity_error. */
async function readSigned(
  bytes: Uint8Array,
  { archive, name }: { archive: Archive; name: string },
  { signal, workFolder }: BuildContext,
): Promise<{ text: string; why: string | null }> {
  const whole = Buffer.from(bytes).toString('utf8');
  try {
    const verified = await verifySigned(
      bytes,
      { keyring: archive.keyring, name, folder: workFolder },
      signal,
    );
    return 'text' in verified
      ? { text: verified.text, why: null }
      : { text: whole, why: verified.unverified };
  } catch (error) {
    if (archive.mustBeSigned || !isImageError(error)) throw error;
    return { text: whole, why: 'it is signed by a key that is not known here' };
  }
}

/**
 * The release file of an archive, its signature checked by the host's gpgv where the host has keys.
 * @throws ImageError registry_unavailable, integrity_error where a signature is bad or asked for and missing.
 */
export async function fetchRelease(archive: Archive, context: BuildContext): Promise<Release> {
  const { root, suite, mustBeSigned } = archive;
  const folder = `${root}dists/${suite}/`;
  const name = `${new URL(root).host} ${suite}`;
  const signed = await page(`${folder}InRelease`, context);
  if (signed !== null) {
    const { text, why } = await readSigned(signed, { archive, name }, context);
    return why === null
      ? believed(text, [], { archive, name, isSigned: true }, context)
      : unsigned(text, why, { archive, name }, context);
  }
  if (mustBeSigned)
    throw new ImageError('integrity_error', `The archive ${name} has no signed release file (InRelease).`);
  const plain = await page(`${folder}Release`, context);
  if (plain === null)
    throw new ImageError(
      'registry_unavailable',
      `${name} is no archive of Debian packages: it has no Release.`,
    );
  return unsigned(Buffer.from(plain).toString('utf8'), 'it has no signature', { archive, name }, context);
}

/** What a release file says, which has to be of the suite that was asked for, and of today. */
function believed(
  text: string,
  warnings: readonly string[],
  source: { archive: Archive; name: string; isSigned: boolean },
  context: BuildContext,
): Release {
  const { files, byHash, ...stated } = readRelease(text);
  checkRelease(stated, source, context);
  return { files, byHash, warnings };
}

function unsigned(
  text: string,
  why: string,
  source: { archive: Archive; name: string },
  context: BuildContext,
): Release {
  const warning = `The archive ${source.name} was taken as it is, since ${why}: its files are only known to be what it says they are.`;
  return believed(clearText(text), [warning], { ...source, isSigned: false }, context);
}

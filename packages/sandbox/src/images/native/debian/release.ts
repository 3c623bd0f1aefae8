import type { BuildContext } from '../../builder.ts';
import { ImageError, isImageError } from '../../error.ts';
import { LARGEST_INDEX_BYTES } from '../limits.ts';
import type { Archive } from './archives.ts';
import { readParagraph } from './control.ts';
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

function readRelease(text: string): Omit<Release, 'warnings'> {
  const fields = readParagraph(text);
  const lines = (fields.get('sha256') ?? '').split('\n').map((line) => line.trim().split(/\s+/));
  const files = new Map<string, string>();
  for (const [digest = '', , path] of lines)
    if (path !== undefined && /^[0-9a-f]{64}$/.test(digest)) files.set(path, digest);
  return { files, byHash: fields.get('acquire-by-hash') === 'yes' };
}

async function page(url: string, context: BuildContext): Promise<Uint8Array | null> {
  const { status, body } = await context.fetchPage(url, { maxBytes: LARGEST_INDEX_BYTES });
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

/**
 * The release file of an archive, its signature checked by the host's gpgv where the host has keys.
 * @throws ImageError registry_unavailable, integrity_error where a signature is bad or asked for and missing.
 */
export async function fetchRelease(archive: Archive, context: BuildContext): Promise<Release> {
  const { root, suite, keyring, mustBeSigned } = archive;
  const folder = `${root}dists/${suite}/`;
  const name = `${new URL(root).host} ${suite}`;
  const signed = await page(`${folder}InRelease`, context);
  if (signed !== null) {
    const { signal, workFolder } = context;
    try {
      const verified = await verifySigned(signed, { keyring, name, folder: workFolder }, signal);
      if ('text' in verified) return { ...readRelease(verified.text), warnings: [] };
      return unsigned(Buffer.from(signed).toString('utf8'), name, verified.unverified);
    } catch (error) {
      if (mustBeSigned || !isImageError(error)) throw error;
      return unsigned(
        Buffer.from(signed).toString('utf8'),
        name,
        'it is signed by a key that is not known here',
      );
    }
  }
  if (mustBeSigned)
    throw new ImageError('integrity_error', `The archive ${name} has no signed release file (InRelease).`);
  const plain = await page(`${folder}Release`, context);
  if (plain === null)
    throw new ImageError(
      'registry_unavailable',
      `${name} is no archive of Debian packages: it has no Release.`,
    );
  return unsigned(Buffer.from(plain).toString('utf8'), name, 'it has no signature');
}

function unsigned(text: string, name: string, why: string): Release {
  const warning = `The archive ${name} was taken as it is, since ${why}: its files are only known to be what it says they are.`;
  return { ...readRelease(clearText(text)), warnings: [warning] };
}

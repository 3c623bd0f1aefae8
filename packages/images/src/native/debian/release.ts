import { findTool } from '@heddle/sandbox/build';
import type { BuildContext } from '../../builder.ts';
import { ImageError } from '../../error.ts';
import { MAX_INDEX_BYTES } from '../limits.ts';
import type { Archive } from './archives.ts';
import { readParagraph } from './control.ts';
import { checkRelease, type ReleaseInfo } from './freshness.ts';
import { notSignedError, verifySignedFile } from './signature.ts';

/** A verified release file. */
export interface Release {
  /** Path below the suite's folder → SHA-256. */
  readonly files: ReadonlyMap<string, string>;
  /** True if files are also available by digest, which remains valid while the archive changes. */
  readonly supportsByHash: boolean;
  /** Sentences for the author of the specification. */
  readonly warnings: readonly string[];
}

function readRelease(text: string): Omit<Release, 'warnings'> & ReleaseInfo {
  const fields = readParagraph(text);
  const lines = (fields.get('sha256') ?? '').split('\n').map((line) => line.trim().split(/\s+/));
  const files = new Map<string, string>();
  for (const [digest = '', , path] of lines)
    if (path !== undefined && /^[0-9a-f]{64}$/.test(digest)) files.set(path, digest);
  const names = ['suite', 'codename'].flatMap((field) => fields.get(field) ?? []);
  const [date, validUntil] = [fields.get('date'), fields.get('valid-until')];
  return { files, supportsByHash: fields.get('acquire-by-hash') === 'yes', names, date, validUntil };
}

async function fetchOptionalFile(url: string, context: BuildContext): Promise<Uint8Array | undefined> {
  const { status, body } = await context.fetchPage(url, { maxBytes: MAX_INDEX_BYTES });
  if (status === 404 || status === 410) return undefined;
  if (status === 200) return body;
  throw new ImageError('registry_unavailable', `${new URL(url).host} responded with ${status} for ${url}.`);
}

/** Returns the text of a release file without its signature. */
function removeSignature(inRelease: string): string {
  const match =
    /-----BEGIN PGP SIGNED MESSAGE-----\r?\n(?:.+\r?\n)*\r?\n([^]*?)-----BEGIN PGP SIGNATURE-----/.exec(
      inRelease,
    );
  return (match?.[1] ?? inRelease).replace(/^- /gm, '');
}

/**
 * Returns the text of a signed release file. `reason` says why the signature was not verified, if it was not. Throws
 * ImageError integrity_error for an invalid signature, if the keyring does not exist, and if the archive must be signed
 * and the key is unknown; provider_error if the archive must be signed and the host cannot verify signatures.
 */
async function readSignedFile(
  bytes: Uint8Array,
  { archive, name, gpgv }: { archive: Archive; name: string; gpgv: string | undefined },
  { signal, workFolder }: BuildContext,
): Promise<{ text: string; reason?: string }> {
  const { keyring, mustBeSigned } = archive;
  const result = await verifySignedFile(bytes, { gpgv, keyring, name, folder: workFolder }, signal);
  if ('text' in result) return { text: result.text };
  if ('unknownKeyMessage' in result && mustBeSigned) throw notSignedError(name, result.unknownKeyMessage);
  if ('unverifiedReason' in result && mustBeSigned)
    throw new ImageError(
      'provider_error',
      `The signature of the archive ${name} cannot be verified, because ${result.unverifiedReason}.`,
    );
  const reason = 'unknownKeyMessage' in result ? 'it is signed by an unknown key' : result.unverifiedReason;
  return { text: Buffer.from(bytes).toString('utf8'), reason };
}

/**
 * Fetches the release file of an archive. Its signature is verified by the host's gpgv if the host has keys.
 * @throws ImageError registry_unavailable, integrity_error if the archive must be signed and has no signature or an
 * invalid one, or if the file is not current, and provider_error if the archive must be signed and there is no gpgv.
 */
export async function fetchRelease(
  archive: Archive,
  context: BuildContext,
  { gpgv }: { gpgv: string | undefined } = { gpgv: findTool('gpgv') },
): Promise<Release> {
  const { mirrorUrl, suite, mustBeSigned } = archive;
  const suiteUrl = `${mirrorUrl}dists/${suite}/`;
  const name = `${new URL(mirrorUrl).host} ${suite}`;
  const signedFile = await fetchOptionalFile(`${suiteUrl}InRelease`, context);
  if (signedFile !== undefined) {
    const { text, reason } = await readSignedFile(signedFile, { archive, name, gpgv }, context);
    return reason === undefined
      ? readCheckedRelease(text, [], { archive, name, isSigned: true }, context)
      : readUnverifiedRelease(text, reason, { archive, name }, context);
  }
  if (mustBeSigned)
    throw new ImageError('integrity_error', `The archive ${name} has no signed release file (InRelease).`);
  const unsignedFile = await fetchOptionalFile(`${suiteUrl}Release`, context);
  if (unsignedFile === undefined)
    throw new ImageError('registry_unavailable', `${name} is not a Debian archive: it has no Release file.`);
  const text = Buffer.from(unsignedFile).toString('utf8');
  return readUnverifiedRelease(text, 'it has no signature', { archive, name }, context);
}

/** Parses and checks a release file. */
function readCheckedRelease(
  text: string,
  warnings: readonly string[],
  source: { archive: Archive; name: string; isSigned: boolean },
  context: BuildContext,
): Release {
  const { files, supportsByHash, ...info } = readRelease(text);
  checkRelease(info, source, context);
  return { files, supportsByHash, warnings };
}

function readUnverifiedRelease(
  text: string,
  reason: string,
  source: { archive: Archive; name: string },
  context: BuildContext,
): Release {
  const warning = `The archive ${source.name} is used without a verified signature, because ${reason}: the digests of its files come from the archive itself.`;
  return readCheckedRelease(removeSignature(text), [warning], { ...source, isSigned: false }, context);
}

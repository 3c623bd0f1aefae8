import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ImageError } from '../../error.ts';

/**
 * The text of a file with a valid signature. Otherwise `unverifiedReason` is the reason why the signature could not be
 * verified, or `unknownKeyMessage` is gpgv's message about a key that is not in the keyring.
 */
export type SignatureResult =
  | { readonly text: string }
  | { readonly unverifiedReason: string }
  | { readonly unknownKeyMessage: string };

const GPGV_PREFIX = 'gpgv: ';

function runCommand(command: string, args: readonly string[], signal: AbortSignal) {
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
    const child = spawn(command, args, { env: {}, signal, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-2_000)));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** Options of `verifySignedFile`. */
interface SignatureOptions {
  /** Path of gpgv; undefined if the host does not have it. */
  readonly gpgv: string | undefined;
  readonly keyring: string | undefined;
  /** Name of the archive, for messages. */
  readonly name: string;
  readonly folder: string;
}

/**
 * Verifies a clearsigned file with the host's gpgv and returns its signed text.
 * @throws ImageError integrity_error for an invalid signature by a known key, and if the keyring does not exist.
 */
export async function verifySignedFile(
  bytes: Uint8Array,
  { gpgv, keyring, name, folder }: SignatureOptions,
  signal: AbortSignal,
): Promise<SignatureResult> {
  if (keyring !== undefined && !existsSync(keyring))
    throw new ImageError('integrity_error', `The keyring ${keyring} of the archive ${name} does not exist.`);
  if (gpgv === undefined) return { unverifiedReason: 'gpgv is not installed on this host (package gpgv)' };
  if (keyring === undefined)
    return {
      unverifiedReason: 'the Debian keys are not installed on this host (package debian-archive-keyring)',
    };
  const path = join(folder, `InRelease-${name.replace(/[^a-z0-9-]/gi, '-')}`);
  await writeFile(path, bytes);
  const args = ['--keyring', keyring, '--output', '-', path];
  const { code, stdout, stderr } = await runCommand(gpgv, args, signal);
  if (code === 0) return { text: stdout };
  // The last matching line is the result; the lines before it are the time and the key.
  const resultLine = stderr
    .split('\n')
    .findLast((line) => line.startsWith(GPGV_PREFIX) && /signature|key/i.test(line));
  const reason = resultLine?.slice(GPGV_PREFIX.length) ?? `gpgv ended with ${code}`;
  if (/no public key/i.test(reason)) return { unknownKeyMessage: reason };
  throw notSignedError(name, reason);
}

/** Returns the error for an archive without a valid signature by a key of the keyring. */
export function notSignedError(name: string, reason: string): ImageError {
  return new ImageError(
    'integrity_error',
    `The archive ${name} is not signed by a key of Debian: ${reason}.`,
  );
}

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findTool } from '@heddle/sandbox/build';
import { ImageError } from '../../error.ts';

/** A text that was signed, or why nobody can tell. */
export type Signed = { readonly text: string } | { readonly unverified: string };

const ENDING = 'gpgv: ';

function run(command: string, args: readonly string[], signal: AbortSignal) {
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

/**
 * What of a clearsigned file is signed by a key of the keyring, checked by the host's gpgv.
 * @throws ImageError integrity_error where the signature is not good.
 */
export async function verifySigned(
  bytes: Uint8Array,
  { keyring, name, folder }: { keyring: string | null; name: string; folder: string },
  signal: AbortSignal,
): Promise<Signed> {
  const gpgv = findTool('gpgv');
  if (gpgv === null) return { unverified: 'there is no gpgv on this host' };
  if (keyring === null || !existsSync(keyring))
    return { unverified: 'there are no keys of Debian on this host (package debian-archive-keyring)' };
  const file = join(folder, `InRelease-${name.replace(/[^a-z0-9-]/gi, '-')}`);
  await writeFile(file, bytes);
  const { code, stdout, stderr } = await run(gpgv, ['--keyring', keyring, '--output', '-', file], signal);
  if (code === 0) return { text: stdout };
  // The last one is the verdict; those before it say when and by whom.
  const said = stderr.split('\n').findLast((line) => line.startsWith(ENDING) && /signature|key/i.test(line));
  throw new ImageError(
    'integrity_error',
    `The archive ${name} is not signed by a key of Debian: ${said?.slice(ENDING.length) ?? `gpgv ended with ${code}`}.`,
  );
}

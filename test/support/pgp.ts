import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** True if this machine has GnuPG, which signs texts and checks signatures. */
export const hasPgp = ['gpg', 'gpgv'].every((name) => spawnSync(name, ['--version']).status === 0);

/** A key that signs texts. The key is deleted after the test. */
export interface Signer {
  /** The path of the file with the public key. */
  readonly keyring: string;
  /** Returns the clearsigned text. */
  sign(text: string): Buffer;
}

/** Creates a key with this name. */
export function createSigner(name: string): Signer {
  // Not a data folder of the tests: this folder contains the socket of the GPG agent, and the path of a socket has a
  // maximum length.
  const home = mkdtempSync(join(tmpdir(), 'pgp-'));
  const gpg = (args: readonly string[], input = ''): Buffer =>
    execFileSync('gpg', ['--homedir', home, '--batch', '--quiet', '--passphrase', '', ...args], {
      input,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  onTestFinished(() => {
    spawnSync('gpgconf', ['--homedir', home, '--kill', 'all']);
    rmSync(home, { recursive: true, force: true });
  });
  gpg(['--pinentry-mode', 'loopback', '--quick-generate-key', name, 'ed25519', 'sign', 'never']);
  const keyring = join(home, 'public.gpg');
  writeFileSync(keyring, gpg(['--export', name]));
  return { keyring, sign: (text) => gpg(['--pinentry-mode', 'loopback', '--clearsign'], text) };
}

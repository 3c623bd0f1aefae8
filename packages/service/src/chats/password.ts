import { createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** Parameters of scrypt: about 60 ms and 16 MB, the minimum in OWASP's password storage cheat sheet. */
const COST = { N: 2 ** 14, r: 8, p: 5 };
const KEY_BYTES = 32;
const SALT_BYTES = 16;

/** Time after which a person has to enter the password again. */
export const ADMISSION_SECONDS = 24 * 3600;

function deriveKey(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, KEY_BYTES, COST, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

/** Returns the salted hash of a password, as it is stored. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await deriveKey(password, salt);
  return `scrypt:1:${salt.toString('base64url')}:${key.toString('base64url')}`;
}

/** Returns whether `storedHash` is a hash of the password. */
export async function verifyPassword(storedHash: string, password: string): Promise<boolean> {
  const [, , salt = '', key = ''] = storedHash.split(':');
  const expected = Buffer.from(key, 'base64url');
  const actual = await deriveKey(password, Buffer.from(salt, 'base64url'));
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

/**
 * Returns a token that proves that its holder has entered the password. The token is signed with the stored hash of the
 * password, so a new password invalidates the token, and no session is stored.
 */
export function createAdmissionToken(storedHash: string, nowMs: number): string {
  const expiresAtMs = nowMs + ADMISSION_SECONDS * 1000;
  return `${expiresAtMs}.${signatureOf(storedHash, expiresAtMs)}`;
}

/** Returns whether the token is valid for the password with this hash. */
export function isValidAdmissionToken(storedHash: string, token: string, nowMs: number): boolean {
  const [expiry = '', tokenSignature = ''] = token.split('.');
  const expiresAtMs = Number(expiry);
  if (!Number.isSafeInteger(expiresAtMs) || expiresAtMs <= nowMs) return false;
  const [actual, expected] = [Buffer.from(tokenSignature), Buffer.from(signatureOf(storedHash, expiresAtMs))];
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

function signatureOf(storedHash: string, expiresAtMs: number): string {
  return createHmac('sha256', storedHash).update(`admission ${expiresAtMs}`).digest('base64url');
}

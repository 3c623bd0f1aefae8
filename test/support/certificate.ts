import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { KeyObject, KeyPairKeyObjectResult } from 'node:crypto';

/** Returns a value in DER encoding: the tag, the length, and the bytes of `parts`. */
function encodeDer(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const size = body.length;
  const lengthBytes = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), body]);
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => encodeDer(0x30, ...parts);
const oid = (hex: string): Buffer => encodeDer(0x06, Buffer.from(hex, 'hex'));
const utf8String = (value: string): Buffer => encodeDer(0x0c, Buffer.from(value));

const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'));
const COMMON_NAME = '550403';
const ALTERNATIVE_NAMES = '551d11';
const BASIC_CONSTRAINTS = '551d13';

/** A certificate and its key, both in PEM. */
export interface Certificate {
  cert: string;
  key: string;
}

/** An issuer of certificates: its name and its private key. */
interface Issuer {
  name: string;
  privateKey: KeyObject;
}

/** Returns a self-signed certificate for 127.0.0.1 (X.509, RFC 5280). */
export function createSelfSignedCertificate(): Certificate {
  return issueCertificate('heddle tests', LOOPBACK_EXTENSION);
}

/** Returns the certificate of a new certificate authority, and a certificate for 127.0.0.1 that it has signed. */
export function createAuthority(): { ca: string; certificate: Certificate } {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = 'heddle test authority';
  const constraints = sequence(
    oid(BASIC_CONSTRAINTS),
    encodeDer(0x04, sequence(encodeDer(0x01, Buffer.from([0xff])))),
  );
  const { cert: ca } = issueCertificate(name, constraints, { keys });
  return {
    ca,
    certificate: issueCertificate('heddle tests', LOOPBACK_EXTENSION, { issuer: { name, ...keys } }),
  };
}

/** The extension for certificates of 127.0.0.1. */
const LOOPBACK_EXTENSION = sequence(
  oid(ALTERNATIVE_NAMES),
  encodeDer(0x04, sequence(encodeDer(0x87, Buffer.from([127, 0, 0, 1])))),
);

/** Returns a certificate with an extension. By default the certificate is self-signed. */
function issueCertificate(
  name: string,
  extension: Buffer,
  {
    keys = generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    issuer = { name, privateKey: keys.privateKey },
  }: { keys?: KeyPairKeyObjectResult; issuer?: Issuer } = {},
): Certificate {
  const { publicKey, privateKey } = keys;
  const validity = [
    encodeDer(0x18, Buffer.from('20200101000000Z')),
    encodeDer(0x18, Buffer.from('20991231235959Z')),
  ];
  const tbsCertificate = sequence(
    encodeDer(0xa0, encodeDer(0x02, Buffer.from([2]))),
    encodeDer(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_SHA256,
    commonName(issuer.name),
    sequence(...validity),
    commonName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    encodeDer(0xa3, sequence(extension)),
  );
  const signature = encodeDer(0x03, Buffer.from([0]), sign('sha256', tbsCertificate, issuer.privateKey));
  const base64 = sequence(tbsCertificate, ECDSA_SHA256, signature).toString('base64');
  const lines = base64.match(/.{1,64}/g) ?? [];
  return {
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

function commonName(name: string): Buffer {
  return sequence(encodeDer(0x31, sequence(oid(COMMON_NAME), utf8String(name))));
}

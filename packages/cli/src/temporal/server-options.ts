import { readFileSync } from 'node:fs';
import type { DeploymentOptions, ServerOptions } from '@heddle/temporal';
import type { Env } from '../env.ts';
import type { RuntimeOptions } from '../store-options.ts';
import { UsageError } from '../usage-error.ts';

/** Defaults if neither the option nor the environment variable is set. */
export const TEMPORAL_DEFAULTS = {
  address: '127.0.0.1:7233',
  namespace: 'default',
  queue: 'heddle',
} as const;

/** Size of an AES-256 key. */
const KEY_BYTES = 32;

/** Returns the server from the command line, or from the variables of Temporal's own tools. Throws usage errors. */
export function serverOptionsOf(
  { address, namespace }: Pick<RuntimeOptions, 'address' | 'namespace'>,
  env: Env,
): ServerOptions & Pick<DeploymentOptions, 'encryption'> & { address: string; namespace: string } {
  const readVariable = (name: string): string | undefined => env.value(name) || undefined;
  const hostPort = address ?? readVariable('TEMPORAL_ADDRESS') ?? TEMPORAL_DEFAULTS.address;
  if (!/^[^\s/]+:\d+$/.test(hostPort)) {
    const source = address === undefined ? 'TEMPORAL_ADDRESS' : '--address';
    throw new UsageError(`${source} ${hostPort} is not an address.`, 'Use HOST:PORT.');
  }
  const apiKey = readVariable('TEMPORAL_API_KEY');
  const tls = tlsOf(readVariable);
  const encryption = encryptionOf(readVariable(KEYS_VARIABLE));
  return {
    address: hostPort,
    namespace: namespace ?? readVariable('TEMPORAL_NAMESPACE') ?? TEMPORAL_DEFAULTS.namespace,
    ...(apiKey !== undefined && { apiKey }),
    ...(tls !== undefined && { tls }),
    ...(encryption && { encryption }),
  };
}

/** Variable with the encryption keys. Keys are secrets: only the environment passes them, and no message shows them. */
const KEYS_VARIABLE = 'HEDDLE_ENCRYPTION_KEYS';

function encryptionOf(text: string | undefined): DeploymentOptions['encryption'] {
  if (text === undefined) return undefined;
  const pairs = text.split(',').map((pair) => /^\s*([^\s=]+)=(\S+?)\s*$/.exec(pair));
  const [firstPair] = pairs;
  const keys: { [id: string]: Buffer } = {};
  for (const [index, pair] of pairs.entries()) {
    const [, id = '', key = ''] = pair ?? [];
    const bytes = Buffer.from(key, 'base64');
    if (bytes.length !== KEY_BYTES) {
      throw new UsageError(
        `Key ${index + 1} of ${KEYS_VARIABLE} is not ID=KEY with ${KEY_BYTES} bytes in base64.`,
        'Use ID=KEY,ID=KEY: the first key encrypts, all decrypt. Create one with: openssl rand -base64 32',
      );
    }
    keys[id] = bytes;
  }
  return { keyId: firstPair?.[1] ?? '', keys };
}

/** Returns the value of a variable; undefined if it is unset or empty. */
type ReadVariable = (name: string) => string | undefined;

function tlsOf(readVariable: ReadVariable): ServerOptions['tls'] {
  const ca = readPem('TEMPORAL_TLS_SERVER_CA_CERT', readVariable);
  const certificate = readPem('TEMPORAL_TLS_CLIENT_CERT', readVariable);
  const key = readPem('TEMPORAL_TLS_CLIENT_KEY', readVariable);
  const serverName = readVariable('TEMPORAL_TLS_SERVER_NAME');
  if ((certificate === undefined) !== (key === undefined)) {
    throw new UsageError(
      'The client certificate or its key is missing.',
      'Set both TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH, or …_DATA of both.',
    );
  }
  const isEnabled = readFlag('TEMPORAL_TLS', readVariable);
  if (isEnabled === false) return false;
  if (!ca && !certificate && serverName === undefined) return isEnabled;
  return {
    ...(ca && { ca }),
    ...(certificate && { certificate }),
    ...(key && { key }),
    ...(serverName !== undefined && { serverName }),
  };
}

/** Returns PEM text from the variable `…_DATA`, or from the file in `…_PATH`. */
function readPem(name: string, readVariable: ReadVariable): Buffer | undefined {
  const data = readVariable(`${name}_DATA`);
  if (data !== undefined) return Buffer.from(data);
  const path = readVariable(`${name}_PATH`);
  if (path === undefined) return undefined;
  try {
    return readFileSync(path);
  } catch (error) {
    throw new UsageError(`Cannot read the file in ${name}_PATH: ${(error as Error).message}`);
  }
}

function readFlag(name: string, readVariable: ReadVariable): boolean | undefined {
  const text = readVariable(name)?.toLowerCase();
  if (text === undefined) return undefined;
  if (['1', 'true'].includes(text)) return true;
  if (['0', 'false'].includes(text)) return false;
  throw new UsageError(`${name} must be true or false.`);
}

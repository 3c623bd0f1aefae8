import { readFileSync } from 'node:fs';
import type { DeploymentOptions, ServerOptions } from '@heddle/temporal';
import type { Env } from '../env.ts';
import type { RuntimeOptions } from '../store-options.ts';
import { UsageError } from '../usage-error.ts';

/** Defaults without options and variables. */
export const DEFAULTS = { address: '127.0.0.1:7233', namespace: 'default', queue: 'heddle' } as const;

/** Size of an AES-256 key. */
const KEY_BYTES = 32;

/** Returns the server from the command line, or from the variables of Temporal's own tools. Throws usage errors. */
export function serverOf(
  { address, namespace }: Pick<RuntimeOptions, 'address' | 'namespace'>,
  env: Env,
): ServerOptions & Pick<DeploymentOptions, 'encryption'> & { address: string; namespace: string } {
  const value = (name: string): string | undefined => env.value(name) || undefined;
  const hostPort = address ?? value('TEMPORAL_ADDRESS') ?? DEFAULTS.address;
  if (!/^[^\s/]+:\d+$/.test(hostPort)) {
    const source = address === undefined ? 'TEMPORAL_ADDRESS' : '--address';
    throw new UsageError(`${source} ${hostPort} is not an address.`, 'Use HOST:PORT.');
  }
  const apiKey = value('TEMPORAL_API_KEY');
  const tls = tlsOf(value);
  const encryption = encryptionOf(value(KEYS));
  return {
    address: hostPort,
    namespace: namespace ?? value('TEMPORAL_NAMESPACE') ?? DEFAULTS.namespace,
    ...(apiKey !== undefined && { apiKey }),
    ...(tls !== undefined && { tls }),
    ...(encryption && { encryption }),
  };
}

/** Variable with the encryption keys. Keys are secrets: only the environment passes them, and no message shows them. */
const KEYS = 'HEDDLE_ENCRYPTION_KEYS';

function encryptionOf(text: string | undefined): DeploymentOptions['encryption'] {
  if (text === undefined) return undefined;
  const pairs = text.split(',').map((pair) => /^\s*([^\s=]+)=(\S+?)\s*$/.exec(pair));
  const [first] = pairs;
  const keys: { [id: string]: Buffer } = {};
  for (const [index, pair] of pairs.entries()) {
    const [, id = '', key = ''] = pair ?? [];
    const bytes = Buffer.from(key, 'base64');
    if (bytes.length !== KEY_BYTES) {
      throw new UsageError(
        `Key ${index + 1} of ${KEYS} is not ID=KEY with ${KEY_BYTES} bytes in base64.`,
        'Use ID=KEY,ID=KEY: the first key encrypts, all decrypt. Create one with: openssl rand -base64 32',
      );
    }
    keys[id] = bytes;
  }
  return { keyId: first?.[1] ?? '', keys };
}

/** Returns the value of a variable; undefined if it is unset or empty. */
type ReadVariable = (name: string) => string | undefined;

function tlsOf(value: ReadVariable): ServerOptions['tls'] {
  const ca = pem('TEMPORAL_TLS_SERVER_CA_CERT', value);
  const certificate = pem('TEMPORAL_TLS_CLIENT_CERT', value);
  const key = pem('TEMPORAL_TLS_CLIENT_KEY', value);
  const serverName = value('TEMPORAL_TLS_SERVER_NAME');
  if ((certificate === undefined) !== (key === undefined)) {
    throw new UsageError(
      'The client certificate or its key is missing.',
      'Set both TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH, or …_DATA of both.',
    );
  }
  const isEnabled = flag('TEMPORAL_TLS', value);
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
function pem(name: string, value: ReadVariable): Buffer | undefined {
  const data = value(`${name}_DATA`);
  if (data !== undefined) return Buffer.from(data);
  const path = value(`${name}_PATH`);
  if (path === undefined) return undefined;
  try {
    return readFileSync(path);
  } catch (error) {
    throw new UsageError(`Cannot read the file in ${name}_PATH: ${(error as Error).message}`);
  }
}

function flag(name: string, value: ReadVariable): boolean | undefined {
  const text = value(name)?.toLowerCase();
  if (text === undefined) return undefined;
  if (['1', 'true'].includes(text)) return true;
  if (['0', 'false'].includes(text)) return false;
  throw new UsageError(`${name} must be true or false.`);
}

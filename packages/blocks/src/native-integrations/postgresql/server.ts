import { getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { HttpClient } from '@heddle/engine';
import { text } from '../../integrations/integration.ts';
import { permanentError } from '../../openapi/call.ts';
import { plainText } from '../../openapi/wire.ts';
import type { NativeToolCall } from '../native-integration.ts';

/** A database, and the settings of a connection to it. */
export interface Server {
  host: string;
  port: number;
  database: string;
  user: string;
  password: string;
  tls: TlsMode;
  /** CA certificates in PEM format; undefined: the public CAs. */
  ca: string | undefined;
  /** The client whose egress policy applies. */
  http: HttpClient;
}

/** `preferred`: with TLS if the server supports it, else without. Only `verify-full` checks the certificate. */
type TlsMode = 'disabled' | 'preferred' | 'required' | 'verify-full';

const SERVICE = 'postgresql';
/** TLS modes by their names in URLs. */
const SSL_MODES: { readonly [mode: string]: TlsMode } = {
  disable: 'disabled',
  prefer: 'preferred',
  require: 'required',
  'verify-full': 'verify-full',
};
const TLS_MODES: readonly string[] = Object.values(SSL_MODES);

/** Fields of blocks and of agents' tools that select the database. */
export const settings = {
  host: text('Host of the database; default: the host in the credential'),
  port: text('Port of the database; default 5432'),
  database: text('Name of the database'),
  username: text('Name of the user'),
  password: text('Password of the user'),
  ssl: text(
    'TLS mode: disabled, preferred, required (default) or verify-full. Only verify-full checks the certificate of the database',
  ),
  sslCa: text('CA certificates that verify-full trusts, in PEM format; default: the public CAs'),
};

/**
 * Returns the database of a call: from the fields if they name a host, else from a credential. A credential is a URL
 * (`postgresql://USER:PASSWORD@HOST/DATABASE?sslmode=verify-full`), or `USER:PASSWORD` for the URL that the operator
 * has configured. Therefore, no stored password is sent to a host that a field names.
 *
 * Throws a BlockError: BLOCK_CONFIG_INVALID, CREDENTIAL_UNKNOWN, TOOL_ADDRESS_MISSING.
 */
export async function serverOf(call: NativeToolCall): Promise<Server> {
  const { context } = call;
  const field = (name: string): string => plainText((getOwn(call.settings, name) ?? '') as Json);
  const ca = field('sslCa') === '' ? undefined : field('sslCa');
  if (field('host').trim() !== '') {
    const parts = {
      ...{ host: field('host').trim(), port: field('port').trim() || '5432', database: field('database') },
      ...{ user: field('username'), password: field('password'), tls: field('ssl').trim() || 'required' },
    };
    return checkServer({ ...parts, ca }, await context.services.httpClient());
  }
  const strayField = ['database', 'username', 'password'].find((name) => field(name) !== '');
  if (strayField !== undefined)
    throw configError(
      `"${strayField}" is set, but "host" is empty: set "host", too, or use a credential without these fields`,
    );
  const service = await context.services.service(SERVICE);
  const secret = await secretOf(call, service.credential);
  if (/^postgres(?:ql)?:\/\//i.test(secret))
    return checkServer(
      { ...parseServerUrl(secret, 'the credential'), ca },
      await context.services.httpClient(),
    );
  const { baseUrl } = service;
  if (baseUrl === undefined)
    throw permanentError(
      'TOOL_ADDRESS_MISSING',
      `The credential for PostgreSQL is not a URL, and the URL of the server is unknown: set it with --service ${SERVICE}=postgresql://HOST/DATABASE.`,
    );
  const [user = '', ...password] = secret.split(':');
  return checkServer(
    { ...parseServerUrl(baseUrl, 'the URL of the server'), user, password: password.join(':'), ca },
    service.http,
  );
}

async function secretOf(
  { context: { services }, credentialId }: NativeToolCall,
  operatorSecret: string | undefined,
): Promise<string> {
  const found =
    credentialId !== undefined
      ? await services.credential({ id: credentialId })
      : operatorSecret === undefined
        ? await services.credential({ provider: SERVICE, type: 'api_key' })
        : { secret: operatorSecret };
  if (found) return found.secret;
  throw permanentError(
    'CREDENTIAL_UNKNOWN',
    credentialId === undefined
      ? `PostgreSQL needs "host", "database", "username" and "password", a stored credential in "credential" or for the provider "${SERVICE}", or --credential ${SERVICE}=postgresql://USER:PASSWORD@HOST/DATABASE.`
      : 'PostgreSQL is used with a credential that does not exist.',
  );
}

type UncheckedServer = Omit<Server, 'port' | 'http' | 'tls'> & { port: string; tls: string };

/** Returns the parts of a URL. Messages do not repeat the URL, because it can have a password. */
function parseServerUrl(text: string, subject: string): Omit<UncheckedServer, 'ca'> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || url.hostname === '')
    throw configError(`${subject} must have the form postgresql://USER:PASSWORD@HOST:5432/DATABASE`);
  for (const name of url.searchParams.keys())
    if (name !== 'sslmode')
      throw configError(`${subject} has the parameter "${name.slice(0, 50)}": only sslmode is supported`);
  const mode = url.searchParams.get('sslmode') ?? 'require';
  try {
    return {
      host: decodeURIComponent(url.hostname).replace(/^\[|\]$/g, ''),
      port: url.port || '5432',
      database: decodeURIComponent(url.pathname.slice(1)),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      tls: Object.hasOwn(SSL_MODES, mode) ? (SSL_MODES[mode] as TlsMode) : mode,
    };
  } catch {
    throw configError(`${subject} has a percent sign that is not part of an encoded character`);
  }
}

function checkServer({ port, tls, ...parts }: UncheckedServer, http: HttpClient): Server {
  const { host, database, user, password } = parts;
  const fields = { database, user, password };
  for (const [name, value] of Object.entries(fields)) {
    if (value === '') throw configError(`the ${name} is empty`);
    // The protocol ends strings with NUL, so the rest of the value would become other parameters.
    if (value.includes('\0')) throw configError(`the ${name} has a NUL character`);
  }
  if (!/^\d{1,5}$/.test(port))
    throw configError(`the port "${port.slice(0, 20)}" of ${host.slice(0, 200)} is not a number`);
  if (!TLS_MODES.includes(tls))
    throw configError(`the TLS mode "${tls.slice(0, 20)}" is not one of ${TLS_MODES.join(', ')}`);
  return { ...parts, port: Number(port), tls: tls as TlsMode, http };
}

function configError(reason: string): ReturnType<typeof permanentError> {
  return permanentError('BLOCK_CONFIG_INVALID', `PostgreSQL cannot be used: ${reason}.`);
}

/** Returns the name of a table in quotes. Each part of `schema.table` has its own quotes. */
export function quoteTable(name: string): string {
  const parts = name.trim().split('.');
  if (parts.length > 2 || parts.some((part) => part === ''))
    throw invalidArgumentError(`"table" is "${name.slice(0, 100)}": write TABLE or SCHEMA.TABLE`);
  return parts.map(quoteIdentifier).join('.');
}

/** Returns a name as a quoted SQL identifier. */
export function quoteIdentifier(name: string): string {
  if (name === '' || name.includes('\0') || Buffer.byteLength(name) > 63)
    throw invalidArgumentError(`"${name.slice(0, 100)}" is not a name: it must have 1 to 63 bytes`);
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns a BlockError with the code TOOL_ARGUMENTS_INVALID. */
export function invalidArgumentError(reason: string): ReturnType<typeof permanentError> {
  return permanentError('TOOL_ARGUMENTS_INVALID', `The statement for PostgreSQL cannot be built: ${reason}.`);
}

/** Returns the columns of rows, which must be the same in all. */
export function columnsOf(rows: readonly JsonObject[]): string[] {
  const [first = {}] = rows;
  const columns = Object.keys(first);
  if (columns.length === 0) throw invalidArgumentError('"data" has no columns');
  const hasSameColumns = (row: JsonObject): boolean =>
    Object.keys(row).length === columns.length && columns.every((name) => Object.hasOwn(row, name));
  const index = rows.findIndex((row) => !hasSameColumns(row));
  if (index !== -1)
    throw invalidArgumentError(`row ${index + 1} of "data" has different columns from the first`);
  return columns;
}

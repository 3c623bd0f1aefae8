import { ImageError, type ImageErrorCode } from '../error.ts';

/** What npm says of a failure with --json. */
interface NpmError {
  readonly code: string;
  readonly summary: string;
  readonly detail: string;
}

const CODES: Readonly<Record<string, ImageErrorCode>> = {
  EINVALIDPACKAGENAME: 'invalid_specifier',
  EINVALIDTAGNAME: 'invalid_specifier',
  EUNSUPPORTEDPROTOCOL: 'invalid_specifier',
  EALLOWGIT: 'invalid_specifier',
  EALLOWREMOTE: 'invalid_specifier',
  EALLOWFILE: 'invalid_specifier',
  EALLOWDIRECTORY: 'invalid_specifier',
  E404: 'package_not_found',
  ENOVERSIONS: 'package_not_found',
  ETARGET: 'version_not_found',
  ERESOLVE: 'resolution_conflict',
  EBADPLATFORM: 'incompatible_platform',
  EBADENGINE: 'incompatible_platform',
  EINTEGRITY: 'integrity_error',
  E429: 'rate_limited',
  ECONNREFUSED: 'registry_unavailable',
  ECONNRESET: 'registry_unavailable',
  ENOTFOUND: 'registry_unavailable',
  EAI_AGAIN: 'registry_unavailable',
  ETIMEDOUT: 'registry_unavailable',
  ERR_SOCKET_TIMEOUT: 'registry_unavailable',
  ERR_TLS_CERT_ALTNAME_INVALID: 'registry_unavailable',
  SELF_SIGNED_CERT_IN_CHAIN: 'registry_unavailable',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'registry_unavailable',
  E401: 'registry_unavailable',
  E403: 'registry_unavailable',
  EFBIG: 'image_too_large',
  ENOSPC: 'provider_error',
  EDQUOT: 'provider_error',
};

const SENTENCES: Readonly<Partial<Record<ImageErrorCode, string>>> = {
  invalid_specifier: 'A package asks for something that no registry has, which is not allowed.',
  package_not_found: 'The registry has no such package.',
  version_not_found: 'The package has no such version.',
  resolution_conflict: 'The packages need versions of each other that exclude one another.',
  incompatible_platform: 'A package is not for this system.',
  integrity_error: 'A package is not the one that the registry announced.',
  rate_limited: 'The registry gets too many requests; build again in a while.',
  registry_unavailable: 'The registry cannot be reached, or refuses to answer.',
  image_too_large: 'A package has a file that is too large.',
  provider_error: 'The disk is full.',
};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The error in what npm printed; it may print warnings around its JSON. */
function readError(stdout: string): NpmError | null {
  const start = stdout.indexOf('{');
  if (start < 0) return null;
  try {
    const { error } = JSON.parse(stdout.slice(start)) as { error?: Record<string, unknown> };
    if (error === undefined) return null;
    return { code: text(error['code']), summary: text(error['summary']), detail: text(error['detail']) };
  } catch {
    return null;
  }
}

/** What is told of a failure: what the host or npm said, in one line. */
function reasonOf(error: NpmError | null, named: string, fault: string | null): string {
  // npm only sees that something between it and the registry refused.
  if (fault !== null && (named === 'E403' || named === 'E502')) return fault;
  const said = [error?.summary, error?.detail].map((part) => (part ?? '').trim().split('\n')[0] ?? '');
  return said.find((part) => part !== '') ?? `npm ended with ${named || 'an unknown fault'}.`;
}

/** What a failed run of npm means; `fault`: why the host did not carry one of its requests out, or null. */
export function npmFailure(stdout: string, stderr: string, fault: string | null): ImageError {
  const error = readError(stdout);
  const named = error?.code ?? /npm error code (\w+)/.exec(stderr)?.[1] ?? '';
  const code = CODES[named] ?? (/^E5\d\d$/.test(named) ? 'registry_unavailable' : 'install_failed');
  const sentence = SENTENCES[code] ?? 'The packages could not be installed.';
  return new ImageError(code, `${sentence} ${reasonOf(error, named, fault)}`.slice(0, 1_000));
}

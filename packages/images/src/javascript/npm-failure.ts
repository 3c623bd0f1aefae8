import { ImageError, type ImageErrorCode } from '../error.ts';

/** npm's description of a failure, with --json. */
interface NpmError {
  readonly code: string;
  readonly summary: string;
  readonly detail: string;
}

const CODE_BY_NPM_CODE: Readonly<Record<string, ImageErrorCode>> = {
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

const SENTENCE_BY_CODE: Readonly<Partial<Record<ImageErrorCode, string>>> = {
  invalid_specifier: 'A package depends on something that is not in a registry, which is not allowed.',
  package_not_found: 'The package is not in the registry.',
  version_not_found: 'The package does not have this version.',
  resolution_conflict: 'The packages require conflicting versions of each other.',
  incompatible_platform: 'A package does not support this system.',
  integrity_error: 'A package does not match the digest in the registry.',
  rate_limited: 'The registry is receiving too many requests; build again later.',
  registry_unavailable: 'The registry cannot be reached or refused the request.',
  image_too_large: 'A package contains a file that is too large.',
  provider_error: 'The disk is full.',
};

const stringOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the error in npm's output, which may contain warnings around its JSON. */
function readError(stdout: string): NpmError | undefined {
  const start = stdout.indexOf('{');
  if (start < 0) return undefined;
  try {
    const { error } = JSON.parse(stdout.slice(start)) as { error?: Record<string, unknown> };
    if (error === undefined) return undefined;
    return {
      code: stringOrEmpty(error['code']),
      summary: stringOrEmpty(error['summary']),
      detail: stringOrEmpty(error['detail']),
    };
  } catch {
    return undefined;
  }
}

/** Returns the reason for a failure in one line, from the registry proxy or from npm. */
function reasonOf(error: NpmError | undefined, npmCode: string, proxyFailure: string | undefined): string {
  // npm sees only that the registry proxy refused a request.
  if (proxyFailure !== undefined && (npmCode === 'E403' || npmCode === 'E502')) return proxyFailure;
  const lines = [error?.summary, error?.detail].map((text) => (text ?? '').trim().split('\n')[0] ?? '');
  return lines.find((line) => line !== '') ?? `npm ended with ${npmCode || 'an unknown error'}.`;
}

/** Returns the error for a failed npm run. `proxyFailure` is why the registry proxy failed one of its requests. */
export function npmFailure(stdout: string, stderr: string, proxyFailure: string | undefined): ImageError {
  const error = readError(stdout);
  const npmCode = error?.code ?? /npm error code (\w+)/.exec(stderr)?.[1] ?? '';
  const code =
    CODE_BY_NPM_CODE[npmCode] ?? (/^E5\d\d$/.test(npmCode) ? 'registry_unavailable' : 'install_failed');
  const sentence = SENTENCE_BY_CODE[code] ?? 'The packages could not be installed.';
  return new ImageError(code, `${sentence} ${reasonOf(error, npmCode, proxyFailure)}`.slice(0, 1_000));
}

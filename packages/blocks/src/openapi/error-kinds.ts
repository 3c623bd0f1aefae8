import { isRetryableStatus } from '@heddle/core/fields';

/** The kinds of failed calls, the same for all services. */
export const ERROR_KINDS = ['auth', 'not_found', 'rate', 'invalid', 'conflict', 'temporary'] as const;
export type ErrorKind = (typeof ERROR_KINDS)[number];

const KIND_BY_STATUS: { readonly [status: number]: ErrorKind } = {
  400: 'invalid',
  401: 'auth',
  403: 'auth',
  404: 'not_found',
  409: 'conflict',
  410: 'not_found',
  412: 'conflict',
  413: 'invalid',
  422: 'invalid',
  429: 'rate',
};

/** The part of a tool (of its `answer`) that decides the kind of a failure. */
interface ErrorRules {
  errors?: { readonly [kind in ErrorKind]?: readonly (string | number)[] | undefined } | undefined;
  /** Older versions of tool files list the reasons for `rate` here. */
  retry?: readonly string[] | undefined;
}

/** A failure that a response reports. */
interface Failure {
  status: number;
  /** The code of the failure, if the service has such codes. */
  code: string | undefined;
  reason: string;
}

/**
 * Returns the kind of a failure. The criteria of the tool decide: first those equal to the code, then those that occur
 * in the reason, then those equal to the status. If none matches, the usual meaning of the status decides. Undefined if
 * the kind is unknown, such as for a failure with status 200.
 */
export function errorKindOf(
  errorRules: ErrorRules | undefined,
  { status, code, reason }: Failure,
): ErrorKind | undefined {
  const rules = ERROR_KINDS.map((kind) => ({ kind, criteria: criteriaOf(errorRules, kind) }));
  const found =
    rules.find(({ criteria }) => code !== undefined && criteria.includes(code)) ??
    rules.find(({ criteria }) =>
      criteria.some((criterion) => typeof criterion === 'string' && reason.includes(criterion)),
    ) ??
    rules.find(({ criteria }) => criteria.includes(status));
  return found?.kind ?? KIND_BY_STATUS[status] ?? (isRetryableStatus(status) ? 'temporary' : undefined);
}

function criteriaOf(errorRules: ErrorRules | undefined, kind: ErrorKind): readonly (string | number)[] {
  const criteria = errorRules?.errors?.[kind] ?? [];
  return kind === 'rate' ? [...criteria, ...(errorRules?.retry ?? [])] : criteria;
}

/** True if a call can succeed later. */
export function isTransient(kind: ErrorKind | undefined): boolean {
  return kind === 'rate' || kind === 'temporary';
}

import type { Integration } from './integration.ts';

/**
 * How services of Google report failures. For an exceeded limit, Drive and Gmail respond with status 403, as for a
 * missing permission: only the reason differs.
 */
export const googleErrors: NonNullable<Integration['answer']> = {
  error: 'error.message',
  code: 'error.errors[0].reason',
  errors: {
    rate: [
      ...['rateLimitExceeded', 'userRateLimitExceeded', 'dailyLimitExceeded', 'sharingRateLimitExceeded'],
      'quotaExceeded',
    ],
    auth: ['authError', 'insufficientPermissions', 'insufficientFilePermissions', 'domainPolicy'],
    invalid: ['fileNotDownloadable', 'exportSizeLimitExceeded', 'storageQuotaExceeded'],
    temporary: ['backendError', 'internalError'],
  },
};

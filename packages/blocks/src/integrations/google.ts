import type { Integration } from './integration.ts';

/**
 * How services of Google report failures. Limits of Drive and Gmail have status 403, and differ from missing
 * permissions only in the reason.
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

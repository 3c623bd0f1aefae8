import type { Area, AreaContext } from '@heddle/api';
import { resumeHandlers } from './handlers.ts';

/**
 * Returns the area (a module of the HTTP API) with the page on which a person answers a pause without a credential: the
 * token is in the URL of the page.
 */
export function resumePages(): Area<AreaContext, Record<never, never>> {
  return {
    name: 'resume-pages',
    operations: {},
    services: (context) => context,
    handlers: (context) => resumeHandlers(context),
  };
}

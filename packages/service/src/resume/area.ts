import type { Area, AreaContext } from '@heddle/api';
import { resumeHandlers } from './handlers.ts';

/** Returns the area of the page on which a person without a credential answers a pause, with the token in its URL. */
export function resumePages(): Area<AreaContext, Record<never, never>> {
  return {
    name: 'resume-pages',
    operations: {},
    services: (context) => context,
    handlers: (context) => resumeHandlers(context),
  };
}

import { DefaultFailureConverter } from '@temporalio/common';

/** Messages and stacks of failures go where payloads go, and are encrypted like them. The SDK loads it by its path. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });

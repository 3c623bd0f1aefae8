import { DefaultFailureConverter } from '@temporalio/common';

/** Encodes messages and stacks of failures as payloads, so that they are encrypted. The SDK loads this file by path. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });

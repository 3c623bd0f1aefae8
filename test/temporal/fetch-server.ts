import { setPriority } from 'node:os';
import { findServer } from '../../packages/temporal/src/server/index.ts';

// Builds or downloads Temporal's development server and sends the `FoundServer` to the parent process. It is a separate
// process with a low priority, because tests run at the same time.
setPriority(10);
const log = (line: string): void => void process.stderr.write(`${line}\n`);
process.send?.(await findServer({ env: process.env, log }));
process.disconnect?.();

// The command line in a child process of heddle.js. It exits when its parent has exited, even if the parent was killed.
import { Socket } from 'node:net';

const parent = new Socket({ fd: 3 });
parent.on('error', () => undefined);
parent.on('close', () => process.kill(process.pid, 'SIGKILL'));
parent.resume().unref();
await import('./heddle.js');

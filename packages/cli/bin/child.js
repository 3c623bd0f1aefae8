// The command line in a child of heddle.js: it ends when its parent is gone, also where that was killed.
import { Socket } from 'node:net';

const parent = new Socket({ fd: 3 });
parent.on('error', () => undefined);
parent.on('close', () => process.kill(process.pid, 'SIGKILL'));
parent.resume().unref();
await import('./heddle.js');

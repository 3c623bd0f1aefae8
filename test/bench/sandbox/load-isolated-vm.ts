import { requirePeer } from '../peer.ts';

export interface Context {
  evalSync(code: string): unknown;
  evalClosureSync(code: string, args: readonly unknown[]): unknown;
  release(): void;
}

interface Isolate {
  createContextSync(): Context;
  dispose(): void;
}

interface IsolatedVm {
  Isolate: {
    new (options: { memoryLimit: number; snapshot?: object }): Isolate;
    createSnapshot(scripts: readonly { code: string }[]): object;
  };
}

/** Loads the isolated-vm on which Heddle's sandbox depends. It needs the Node.js option `--no-node-snapshot`. */
export function loadIsolatedVm(): IsolatedVm {
  return requirePeer('isolated-vm', import.meta.resolve('@heddle/sandbox'));
}

import { createRequire } from 'node:module';

/** What the processes of a sandbox run on. */
export interface SandboxVersions {
  readonly node: string;
  readonly v8: string;
  readonly isolatedVm: string;
}

/** The versions of this host; its processes have the same, unless `execPath` names another Node.js. */
export function sandboxVersions(): SandboxVersions {
  const { version } = createRequire(import.meta.url)('isolated-vm/package.json') as { version: string };
  return { node: process.versions.node, v8: process.versions.v8, isolatedVm: version };
}

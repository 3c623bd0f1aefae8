import { describe, expect, it } from 'vitest';
import { findBubblewrap } from '../../../../test/support/bubblewrap.ts';
import type { Confinement } from '../isolation/confine.ts';
import { minimalRootFileSystem } from '../isolation/libraries.ts';
import { NativeHost } from './host.ts';
import { nativeInvocation } from './jail.ts';

const bubblewrapPath = process.platform === 'linux' ? findBubblewrap() : undefined;
const options = bubblewrapPath === undefined ? {} : { bubblewrap: bubblewrapPath };
const host = new NativeHost(options, process.execPath);

describe.skipIf(bubblewrapPath === undefined)('the number of processes in a jail', () => {
  const { execPath, readablePaths } = minimalRootFileSystem();
  const invocationOf = (confinement: Confinement, rootfs?: string) => {
    const { args, jailArguments } = nativeInvocation(confinement, undefined, {
      ...{
        rootfs,
        execPath,
        readablePaths,
        command: ['/run/program'],
        environment: {},
        cpuSeconds: 1,
      },
      limits: { memoryMiB: 64, diskMiB: 8, processes: 7 },
    });
    return { commandLine: args.join(' '), jailArguments: jailArguments.toString('utf8').split('\0') };
  };

  it('is limited by a program inside the jail if its user also runs other processes', async () => {
    const sharedUserConfinement: Confinement = { ...(await host.getConfinement()), uids: undefined };
    const { prlimit } = sharedUserConfinement.tools;
    const invocationWithoutRootfs = invocationOf(sharedUserConfinement);
    expect(invocationWithoutRootfs.commandLine).toMatch(
      new RegExp(` -- ${prlimit} --nproc=7 -- /run/program$`),
    );
    expect(invocationWithoutRootfs.jailArguments).toContain(prlimit);
    const invocationWithRootfs = invocationOf(sharedUserConfinement, '/some/root');
    expect(invocationWithRootfs.commandLine).toContain('ulimit -u 7');
    expect(invocationWithRootfs.jailArguments).not.toContain(prlimit);
  });
});

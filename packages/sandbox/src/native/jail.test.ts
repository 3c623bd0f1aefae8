import { describe, expect, it } from 'vitest';
import { bubblewrap } from '../../../../test/support/bubblewrap.ts';
import type { Confinement } from '../isolation/confine.ts';
import { bareRoot } from '../isolation/libraries.ts';
import { NativeHost } from './host.ts';
import { nativeInvocation } from './jail.ts';

const bubblewrapPath = process.platform === 'linux' ? bubblewrap() : undefined;
const options = bubblewrapPath === undefined ? {} : { bubblewrap: bubblewrapPath };
const host = new NativeHost(options, process.execPath);

describe.skipIf(bubblewrapPath === undefined)('the number of processes in a jail', () => {
  const { execPath, readable } = bareRoot();
  const invocationOf = (confinement: Confinement, rootfs?: string) => {
    const { args, arguments: jailArguments } = nativeInvocation(confinement, undefined, {
      ...{
        rootfs,
        execPath,
        readable,
        command: ['/run/program'],
        environment: {},
        cpuSeconds: 1,
      },
      limits: { memoryMiB: 64, diskMiB: 8, processes: 7 },
    });
    return { commandLine: args.join(' '), jailArguments: jailArguments.toString('utf8').split('\0') };
  };

  it('is limited by a program inside the jail if its user also runs other processes', async () => {
    const withSharedUser: Confinement = { ...(await host.confinement()), uids: undefined };
    const { prlimit } = withSharedUser.tools;
    const withoutRootfs = invocationOf(withSharedUser);
    expect(withoutRootfs.commandLine).toMatch(new RegExp(` -- ${prlimit} --nproc=7 -- /run/program$`));
    expect(withoutRootfs.jailArguments).toContain(prlimit);
    const withRootfs = invocationOf(withSharedUser, '/some/root');
    expect(withRootfs.commandLine).toContain('ulimit -u 7');
    expect(withRootfs.jailArguments).not.toContain(prlimit);
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { killOrphanedProcesses, freeProcessUid, takeProcessUid } from './process-uid.ts';
import { spawnConfined } from './spawn.ts';
import { isMapped } from './users.ts';

const isRootOnLinux = process.platform === 'linux' && process.geteuid?.() === 0;

describe.runIf(process.platform === 'linux')('the user ids of processes', () => {
  it('are in the range, and belong to one process until they are freed', () => {
    const range = { from: 61_000, to: 61_002 };
    const uids = [takeProcessUid(range), takeProcessUid(range), takeProcessUid(range)];
    expect(new Set(uids)).toEqual(new Set([61_000, 61_001, 61_002]));
    expect(() => takeProcessUid(range)).toThrow(expect.objectContaining({ code: 'SLOTS_EXHAUSTED' }));
    freeProcessUid(61_001);
    expect(takeProcessUid(range)).toBe(61_001);
    for (const uid of uids) freeProcessUid(uid);
  });

  it('are used in turn, freed ones last', () => {
    const range = { from: 61_010, to: 61_013 };
    const seenUids = [];
    for (let i = 0; i < 4; i++) {
      const uid = takeProcessUid(range);
      seenUids.push(uid);
      freeProcessUid(uid);
    }
    expect(new Set(seenUids).size).toBe(4);
  });

  it("are freed if a process's files cannot be opened", () => {
    const range = { from: 61_040, to: 61_040 };
    const uid = takeProcessUid(range);
    const invocation = {
      command: '/bin/true',
      args: [],
      filter: undefined,
      mayLeaveProcesses: false,
      hasSyncPipe: false,
    };
    expect(() => spawnConfined({ ...invocation, uid, files: ['/', '/nowhere/site.zip'] })).toThrow(/ENOENT/);
    expect(takeProcessUid(range)).toBe(uid);
    freeProcessUid(uid);
  });

  it('are not held by a claim without the start time of its process', () => {
    const range = { from: 61_045, to: 61_045 };
    const uid = takeProcessUid(range);
    const folders = ['/run', tmpdir()].map((parent) => join(parent, `heddle-uids-${process.geteuid?.()}`));
    const isClaim = (name: string): boolean => name.startsWith(`${uid}-${process.pid}-`);
    const folder = folders.find(
      (candidate) => existsSync(candidate) && readdirSync(candidate).some(isClaim),
    ) as string;
    freeProcessUid(uid);
    // No process can have this id.
    writeFileSync(join(folder, `${uid}-4194305`), '');
    expect(takeProcessUid(range)).toBe(uid);
    freeProcessUid(uid);
  });

  it('are held by one host process at a time, even if unused, and are freed when it dies', async () => {
    const script = `
      import { takeProcessUid } from ${JSON.stringify(new URL('./process-uid.ts', import.meta.url).href)};
      const uids = [];
      try { for (;;) uids.push(takeProcessUid({ from: 61050, to: 61069 })); } catch {}
      console.log(JSON.stringify(uids));
      process.stdin.resume();`;
    const hosts = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ['--conditions=@heddle/source', '--input-type=module', '--eval', script], {
        stdio: ['pipe', 'pipe', 'inherit'],
      }),
    );
    onTestFinished(() => hosts.forEach((host) => host.kill('SIGKILL')));
    const outputs = await Promise.all(
      hosts.map(async ({ stdout }) => String((await once(stdout, 'data'))[0])),
    );
    const allUids = outputs.flatMap((text) => JSON.parse(text) as number[]);
    expect(allUids.length).toBeGreaterThan(0);
    expect(new Set(allUids).size).toBe(allUids.length);
    const exitPromises = hosts.map((host) => once(host, 'exit'));
    for (const host of hosts) host.kill('SIGKILL');
    await Promise.all(exitPromises);
    const ownUids = Array.from({ length: 20 }, () => takeProcessUid({ from: 61_050, to: 61_069 }));
    expect(new Set(ownUids).size).toBe(20);
    ownUids.forEach(freeProcessUid);
  });

  it.runIf(isRootOnLinux)('are not used while anything else runs with them', async () => {
    const range = { from: 61_020, to: 61_021 };
    const otherProcess = spawn('/bin/sleep', ['60'], { uid: 61_020, gid: 61_020, stdio: 'ignore' });
    await once(otherProcess, 'spawn');
    const uid = takeProcessUid(range);
    expect(uid).toBe(61_021);
    expect(() => takeProcessUid(range)).toThrow(expect.objectContaining({ code: 'SLOTS_EXHAUSTED' }));
    otherProcess.kill('SIGKILL');
    freeProcessUid(uid);
  });

  it.runIf(isRootOnLinux)('have no processes left after killOrphanedProcesses', async () => {
    const range = { from: 61_030, to: 61_030 };
    const uid = takeProcessUid(range);
    const leftoverProcess = spawn('/bin/sleep', ['60'], { uid, gid: uid, stdio: 'ignore' });
    await once(leftoverProcess, 'spawn');
    killOrphanedProcesses(uid);
    freeProcessUid(uid);
    expect(await once(leftoverProcess, 'exit')).toEqual([null, 'SIGKILL']);
  });
});

describe('the map of a user namespace', () => {
  it.each([
    ['0 0 4294967295', true],
    ['         0          0 4294967295\n', true],
    ['0 1000 1', false],
    ['0 1000 1\n1 100000 65536', true],
    ['0 100000 60600', false],
    ['', false],
  ])('%o contains the users: %j', (map, expected) => {
    expect(isMapped({ from: 60_578, to: 60_705 }, map)).toBe(expected);
  });
});

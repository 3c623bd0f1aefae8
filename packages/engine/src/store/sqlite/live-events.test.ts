import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../../../../../test/support/data-folder.ts';
import { TestClock } from '../../../../../test/support/test-clock.ts';
import { LIVE_RETENTION_MS } from '../live-events.ts';
import type { LiveEventStore } from '../live-events.ts';
import { MemoryLiveEvents } from '../memory-live-events.ts';
import { SqliteLiveEvents } from './live-events.ts';

const EVENT = { place: 'b', json: '1' };

function open(dataFolder: string, { canWrite = true, clock = new TestClock() } = {}): SqliteLiveEvents {
  const store = new SqliteLiveEvents(dataFolder, { clock, canWrite });
  onTestFinished(() => store.close());
  return store;
}

describe('live events in a data folder', () => {
  it('have a file that only this user can read, and reading does not create the file', () => {
    const dataFolder = createDataFolder();
    const [writer, reader] = [open(dataFolder), open(dataFolder, { canWrite: false })];
    expect([writer.lastNumber('r'), reader.lastNumber('r')]).toEqual([0, 0]);
    writer.remove('r');
    expect(existsSync(join(dataFolder, 'live.db'))).toBe(false);
    writer.publish('r', [EVENT]);
    expect(statSync(join(dataFolder, 'live.db')).mode & 0o777).toBe(0o600);
    expect(reader.read('r', 0, 10)).toEqual([{ number: 1, ...EVENT }]);
  });

  it('are stored in a new file if the old one is corrupt', () => {
    const dataFolder = createDataFolder();
    writeFileSync(join(dataFolder, 'live.db'), 'This is not a database. '.repeat(100));
    const store = open(dataFolder);
    expect(store.publish('r', [EVENT])).toBe(1);
    expect(store.read('r', 0, 10)).toHaveLength(1);
  });

  it('fail with ENGINE_CLOSED after the store was closed', () => {
    const store = open(createDataFolder());
    store.close();
    expect(() => store.publish('r', [EVENT])).toThrow(expect.objectContaining({ code: 'ENGINE_CLOSED' }));
  });
});

describe.each<[string, (clock: TestClock) => LiveEventStore]>([
  ['memory', (clock) => new MemoryLiveEvents(clock)],
  ['a data folder', (clock) => open(createDataFolder(), { clock })],
])('live events in %s', (_name, createStore) => {
  it('are removed an hour after the last one of their run', async () => {
    const clock = new TestClock();
    const store = createStore(clock);
    await store.publish('old', [EVENT]);
    await store.publish('live', [EVENT]);
    clock.advance(LIVE_RETENTION_MS - 1);
    await store.publish('live', [EVENT]);
    expect(await store.read('old', 0, 10)).toHaveLength(1);
    clock.advance(60_001);
    await store.publish('new', [EVENT]);
    expect(await store.read('old', 0, 10)).toEqual([]);
    expect(await store.read('live', 0, 10)).toHaveLength(2);
  });
});

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../../../test/support/data-folder.ts';
import { KeyFolder, parseKeys, missingKeys, Sealer } from './sealing.ts';
import type { SealedValue } from './sealing.ts';

const keyText = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const ROW = ['secret', 'w1', '', 'TOKEN'];

const NOT_AUTHENTIC = expect.objectContaining({ name: 'SealingError', code: 'NOT_AUTHENTIC' }) as Error;
const UNKNOWN_KEY = expect.objectContaining({ name: 'SealingError', code: 'UNKNOWN_KEY' }) as Error;
const NO_KEY = expect.objectContaining({ name: 'SealingError', code: 'NO_KEY' }) as Error;

/** Returns the sealed value with one bit of the byte at `index` flipped. */
function flipBit({ keyId, sealed }: SealedValue, index: number): SealedValue {
  const bytes = Buffer.from(sealed, 'base64url');
  bytes[index] = (bytes[index] as number) ^ 1;
  return { keyId, sealed: bytes.toString('base64url') };
}

describe('a sealed value', () => {
  const sealer = new Sealer(parseKeys(keyText(1)));

  it.each(['', 'x', 'Grüße 🧵', 'a'.repeat(65_536)])('is opened unchanged', (text) => {
    expect(sealer.open(sealer.seal(text, ROW), ROW)).toBe(text);
  });

  it('contains neither the text nor the key, and is different each time', () => {
    const [firstValue, secondValue] = [
      sealer.seal('a very secret text', ROW),
      sealer.seal('a very secret text', ROW),
    ];
    expect(Buffer.from(firstValue.sealed, 'base64url').toString('latin1')).not.toContain('secret');
    expect(JSON.stringify(firstValue)).not.toContain(keyText(1).slice(0, 12));
    expect(firstValue.sealed).not.toBe(secondValue.sealed);
  });

  it.each([
    [['secret', 'w2', '', 'TOKEN']],
    [['secret', 'w1', 'u1', 'TOKEN']],
    [['secret', 'w1', '', 'OTHER']],
    [['credential', 'w1', '', 'TOKEN']],
    [['secret', 'w1,', 'TOKEN']],
  ])('is not opened for the row %j', (row) => {
    expect(() => sealer.open(sealer.seal('text', ROW), row)).toThrow(NOT_AUTHENTIC);
  });

  it('is not opened after any byte has changed', () => {
    const sealedValue = sealer.seal('text', ROW);
    const { length } = Buffer.from(sealedValue.sealed, 'base64url');
    for (let index = 0; index < length; index++)
      expect(() => sealer.open(flipBit(sealedValue, index), ROW)).toThrow(NOT_AUTHENTIC);
  });

  it.each(['', 'AAAA', 'A'.repeat(20)])('is not opened when it is truncated (%s)', (sealed) => {
    const { keyId } = sealer.seal('text', ROW);
    expect(() => sealer.open({ keyId, sealed }, ROW)).toThrow(NOT_AUTHENTIC);
  });

  it('that cannot be opened leads to an error that names its row, but not its text', () => {
    const otherSealer = new Sealer(parseKeys(keyText(2)));
    expect(() => otherSealer.open(sealer.seal('text', ROW), ROW)).toThrow(UNKNOWN_KEY);
    expect(() => otherSealer.open(sealer.seal('text', ROW), ROW)).toThrow(/^The key [0-9a-f]{16} .*TOKEN/);
  });
});

describe('sealing keys', () => {
  it('open the values that any of them sealed; the first one seals', () => {
    const oldSealer = new Sealer(parseKeys(keyText(1)));
    const sealerWithBothKeys = new Sealer(parseKeys(`${keyText(2)}, ${keyText(1)}`));
    expect(sealerWithBothKeys.open(oldSealer.seal('old', ROW), ROW)).toBe('old');
    expect(sealerWithBothKeys.seal('new', ROW).keyId).toBe(new Sealer(parseKeys(keyText(2))).currentKeyId());
  });

  it.each(['', 'short', `${keyText(1)},`, Buffer.alloc(33).toString('base64')])(
    'are refused without a key of 32 bytes (%s)',
    (text) => {
      expect(() => parseKeys(text)).toThrow(NO_KEY);
    },
  );

  it('that are missing fail with a message that says what to do', () => {
    const sealer = new Sealer(missingKeys('Set the variable.'));
    expect(() => sealer.seal('text', ROW)).toThrow('Set the variable.');
    expect(() => sealer.open({ keyId: 'x', sealed: '' }, ROW)).toThrow(NO_KEY);
  });
});

describe('a folder of keys', () => {
  it('gets its first key when a value is sealed, in a private file', () => {
    const folder = join(createDataFolder(), 'keys');
    const sealer = new Sealer(new KeyFolder(folder));
    expect(() => sealer.open({ keyId: 'x', sealed: '' }, ROW)).toThrow(UNKNOWN_KEY);
    const sealedValue = sealer.seal('text', ROW);
    expect(readdirSync(folder)).toEqual(['000001.key']);
    expect(statSync(join(folder, '000001.key')).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(new Sealer(new KeyFolder(folder)).open(sealedValue, ROW)).toBe('text');
  });

  it('opens values that another process has sealed with a newer key', () => {
    const folder = join(createDataFolder(), 'keys');
    const [firstFolder, secondFolder] = [new KeyFolder(folder), new KeyFolder(folder)];
    const oldValue = new Sealer(firstFolder).seal('old', ROW);
    secondFolder.rotate(new Set([oldValue.keyId]));
    const newValue = new Sealer(secondFolder).seal('new', ROW);
    expect(new Sealer(firstFolder).open(newValue, ROW)).toBe('new');
    expect(new Sealer(firstFolder).currentKeyId()).toBe(newValue.keyId);
  });

  it('keeps keys in use and the previous key', () => {
    const folder = join(createDataFolder(), 'keys');
    const keys = new KeyFolder(folder);
    const usedId = keys.currentKey().id;
    keys.rotate(new Set([usedId]));
    keys.rotate(new Set([usedId]));
    expect(readdirSync(folder).sort()).toEqual(['000001.key', '000002.key', '000003.key']);
    keys.rotate(new Set());
    expect(readdirSync(folder).sort()).toEqual(['000003.key', '000004.key']);
  });

  it('refuses a file that is not a key, and names it', () => {
    const folder = join(createDataFolder(), 'keys');
    new KeyFolder(folder).currentKey();
    writeFileSync(join(folder, '000002.key'), 'no key');
    expect(() => new KeyFolder(folder).currentKey()).toThrow(/000002\.key is not a key/);
    expect(readFileSync(join(folder, '000001.key'), 'utf8')).toHaveLength(44);
  });
});

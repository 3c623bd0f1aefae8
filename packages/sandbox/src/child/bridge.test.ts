import { describe, expect, it } from 'vitest';
import { hash, readMessage } from './bridge.ts';

describe('guest messages', () => {
  it('are identified by their first letter', () => {
    expect(readMessage('Lhello')).toEqual({ kind: 'log', line: 'hello' });
    expect(readMessage('D{"a":1}')).toEqual({ kind: 'result', json: '{"a":1}' });
    expect(readMessage('T7:1500')).toEqual({ kind: 'timer', id: 7, ms: 1500 });
    expect(readMessage('C3:fetch:+2:{}body')).toEqual({
      kind: 'call',
      callId: 3,
      op: 'fetch',
      head: '{}',
      body: 'body',
    });
    expect(readMessage('C3:fetch:-2:{}')).toEqual({
      kind: 'call',
      callId: 3,
      op: 'fetch',
      head: '{}',
      body: undefined,
    });
    expect(readMessage('R16')).toEqual({ kind: 'random', byteCount: 16 });
  });

  it.each([
    [undefined],
    [7],
    [{ t: 'L' }],
    [''],
    ['Zx'],
    ['T'],
    ['T1'],
    ['T-1:5'],
    ['T1:x'],
    ['T1:1; rm'],
    ['X1e5'],
    ['C1:fetch:+99:{}'],
    ['C1:FETCH:-2:{}'],
    ['C:fetch:-2:{}'],
    ['R65537'],
    ['R-1'],
    ['H999:-:x'],
    ['H256:+5:ab'],
  ])('are refused if malformed: %o', (message) => {
    expect(readMessage(message)).toBeUndefined();
  });

  it('for hashes yield digests and HMACs as binary strings', () => {
    const digestMessage = readMessage('H256:-:abc');
    if (digestMessage?.kind !== 'hash') throw new Error('no hash');
    expect(Buffer.from(hash(digestMessage), 'latin1').toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
    const macMessage = readMessage('H256:+3:keyThe quick brown fox jumps over the lazy dog');
    if (macMessage?.kind !== 'hash') throw new Error('no hash');
    expect(Buffer.from(hash(macMessage), 'latin1').toString('hex')).toBe(
      'f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8',
    );
  });
});

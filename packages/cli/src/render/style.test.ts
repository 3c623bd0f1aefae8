import { describe, expect, it } from 'vitest';
import { RecordingStream } from '../../../../test/support/io.ts';
import { sanitize, sanitizeLine, styleFor } from './style.ts';

describe('untrusted text', () => {
  it('cannot move the cursor, ring the bell, or rewrite or reorder the screen', () => {
    expect(sanitize('a\u001B[2Jb\u0007c\rd\u202Ee\u009B31mf')).not.toMatch(/[\u001B\u0007\r\u202E\u009B]/);
  });

  it('keeps line breaks and tabs', () => {
    expect(sanitize('a\r\nb\tc\n')).toBe('a\nb\tc\n');
  });

  it('fits on one line with sanitizeLine', () => {
    expect(sanitizeLine('  two\n lines\t')).toBe('two lines');
  });
});

describe('styles', () => {
  it('are off for a stream that is not a terminal', () => {
    expect(styleFor(new RecordingStream()).red('x')).toBe('x');
  });

  it('are on if forced', () => {
    const { FORCE_COLOR } = process.env;
    process.env['FORCE_COLOR'] = '1';
    try {
      expect(styleFor(new RecordingStream()).red('x')).toBe('\u001B[31mx\u001B[39m');
    } finally {
      if (FORCE_COLOR === undefined) delete process.env['FORCE_COLOR'];
      else process.env['FORCE_COLOR'] = FORCE_COLOR;
    }
  });
});

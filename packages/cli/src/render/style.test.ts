import { describe, expect, it } from 'vitest';
import { Kept } from '../../../../test/support/io.ts';
import { safe, safeLine, styleFor } from './style.ts';

describe('text that came from a workflow', () => {
  it('cannot move the cursor, ring, rewrite or turn around what is on the screen', () => {
    expect(safe('a\u001B[2Jb\u0007c\rd\u202Ee\u009B31mf')).not.toMatch(/[\u001B\u0007\r\u202E\u009B]/);
  });

  it('keeps its line breaks and tabs', () => {
    expect(safe('a\r\nb\tc\n')).toBe('a\nb\tc\n');
  });

  it('fits on one line where a line is wanted', () => {
    expect(safeLine('  two\n lines\t')).toBe('two lines');
  });
});

describe('styles', () => {
  it('are none for a stream that is no terminal', () => {
    expect(styleFor(new Kept()).red('x')).toBe('x');
  });

  it('are there when they are asked for', () => {
    const { FORCE_COLOR } = process.env;
    process.env['FORCE_COLOR'] = '1';
    try {
      expect(styleFor(new Kept()).red('x')).toBe('\u001B[31mx\u001B[39m');
    } finally {
      if (FORCE_COLOR === undefined) delete process.env['FORCE_COLOR'];
      else process.env['FORCE_COLOR'] = FORCE_COLOR;
    }
  });
});

import type { Io, OutputStream } from '../io.ts';
import { CONTROL_CHARACTERS } from './style.ts';

/** Escape sequences that the CLI itself writes: styles and the status line. */
const OWN_SEQUENCE = String.raw`\u001B\[[0-9;]*m|\r\u001B\[2K|\u001B\[\?7[hl]`;
const OWN_SEQUENCE_OR_CONTROL_CHARACTER = new RegExp(`${OWN_SEQUENCE}|[${CONTROL_CHARACTERS}]`, 'g');
const ANY_CONTROL_CHARACTER = new RegExp(`[${CONTROL_CHARACTERS}]`);

/**
 * Escapes control characters as in JSON (`\u202e`), except in the CLI's own sequences. A terminal does not interpret
 * the result, and JSON keeps its value.
 */
export function escapeControlCharacters(text: string): string {
  if (!ANY_CONTROL_CHARACTER.test(text)) return text;
  return text.replaceAll(OWN_SEQUENCE_OR_CONTROL_CHARACTER, (match) =>
    match.length > 1 ? match : escapeCharacter(match),
  );
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Returns streams that apply `escapeControlCharacters` to all text that is written to them. */
export function escapeIoOutput(io: Io): Io {
  return {
    get stdin() {
      return io.stdin;
    },
    stdout: escapeStreamOutput(io.stdout),
    stderr: escapeStreamOutput(io.stderr),
  };
}

function escapeStreamOutput(stream: OutputStream): OutputStream {
  const writeChunk = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  const write = (chunk: unknown, ...args: unknown[]): boolean =>
    writeChunk(typeof chunk === 'string' ? escapeControlCharacters(chunk) : chunk, ...args);
  return new Proxy(stream, {
    get(target, name) {
      if (name === 'write') return write;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

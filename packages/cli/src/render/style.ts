import { stripVTControlCharacters, styleText } from 'node:util';
import type { OutputStream } from '../io.ts';

/** Text styles; identity functions if the stream has no colours. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

type Format = Parameters<typeof styleText>[0];

/** Returns the styles for a stream. Node decides whether it has colours, by the terminal, NO_COLOR and FORCE_COLOR. */
export function styleFor(stream: OutputStream): Style {
  const hasColours = styleText('red', '.', { stream }) !== '.';
  const paint =
    (format: Format) =>
    (text: string): string =>
      hasColours && text !== '' ? styleText(format, text, { validateStream: false }) : text;
  return {
    bold: paint('bold'),
    dim: paint('dim'),
    red: paint('red'),
    green: paint('green'),
    yellow: paint('yellow'),
    cyan: paint('cyan'),
  };
}

/**
 * Control characters, for a character class of a regular expression: C0 without tab and line feed, C1, and characters
 * that control text direction. In untrusted data they could move the cursor, rewrite the screen or reorder text.
 */
export const CONTROL_CHARACTERS = String.raw`\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069`;
const CONTROL_CHARACTER_PATTERN = new RegExp(`[${CONTROL_CHARACTERS}]`, 'g');

/** Removes control characters and escape sequences, except line breaks and tabs. */
export function sanitize(text: string): string {
  return stripVTControlCharacters(text).replaceAll('\r\n', '\n').replaceAll(CONTROL_CHARACTER_PATTERN, '');
}

/** Returns safe text on one line. */
export function sanitizeLine(text: string): string {
  return sanitize(text).replaceAll(/\s+/g, ' ').trim();
}

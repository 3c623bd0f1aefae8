import { stripVTControlCharacters, styleText } from 'node:util';
import type { OutStream } from '../io.ts';

/** Colours and weights of text; identity functions where the stream takes none. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

type Format = Parameters<typeof styleText>[0];

/** Styles for a stream: NO_COLOR, FORCE_COLOR, dumb terminals and redirection are respected as Node reads them. */
export function styleFor(stream: OutStream): Style {
  const coloured = styleText('red', '.', { stream }) !== '.';
  const paint =
    (format: Format) =>
    (text: string): string =>
      coloured && text !== '' ? styleText(format, text, { validateStream: false }) : text;
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
 * The characters, for a class of a regular expression, by which data could move the cursor, rewrite what stands on the
 * screen or turn its order around: C0 without tab and line feed, C1, and what controls the direction of text.
 */
export const CONTROLS = String.raw`\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069`;
const EACH_CONTROL = new RegExp(`[${CONTROLS}]`, 'g');

/** The text without anything that a terminal would obey; line breaks and tabs stay. */
export function safe(text: string): string {
  return stripVTControlCharacters(text).replaceAll('\r\n', '\n').replaceAll(EACH_CONTROL, '');
}

/** The text, safe and on one line. */
export function safeLine(text: string): string {
  return safe(text).replaceAll(/\s+/g, ' ').trim();
}

import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Json } from '@heddle/core';
import type { Io } from '../io.ts';
import { UsageError } from '../usage-error.ts';

/** What an option may hold: JSON as it is, `@file`, or `-` for standard input. */
export async function jsonSource(io: Io, option: string, value: string): Promise<Json> {
  if (value === '-') return parse(await text(io.stdin), 'Standard input', `${option} - reads JSON from it.`);
  if (value.startsWith('@')) return jsonFile(option, value.slice(1));
  const hint = /^[\s[{"]/.test(value)
    ? `Put single quotes around it, so that the shell leaves it alone: ${option} '{"name": "value"}'`
    : `A text is JSON only with its quotes: ${option} '${JSON.stringify(value)}'. A file is given as ${option} @file.json.`;
  return parse(value, `The value of ${option}`, hint);
}

/** The JSON that a file holds. */
export async function jsonFile(option: string, file: string): Promise<Json> {
  return parse(await readInput(file, option), `The file ${file}`, `${option} needs a file of JSON.`);
}

/** The text of a file that an argument names; `-`: of standard input. */
export async function readFileOrStdin(io: Io, file: string): Promise<string> {
  return file === '-' ? text(io.stdin) : readInput(file, 'FILE');
}

/** The text of a file that an argument names. */
export async function readInput(file: string, option: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${unreadable(file, error)}`, `${option} is read relative to ${process.cwd()}.`);
  }
}

function unreadable(file: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return `There is no file ${file}.`;
    case 'EISDIR':
      return `${file} is a folder, not a file.`;
    case 'EACCES':
      return `The file ${file} may not be read.`;
    default:
      return `The file ${file} cannot be read: ${message}`;
  }
}

function parse(source: string, what: string, hint: string): Json {
  if (source.trim() === '') throw new UsageError(`${what} is empty, and no JSON.`, hint);
  try {
    return JSON.parse(source.replace(/^\uFEFF/, '')) as Json;
  } catch (error) {
    throw new UsageError(`${what} is not JSON: ${(error as SyntaxError).message}`, hint);
  }
}

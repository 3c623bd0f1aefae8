import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Json } from '@heddle/core';
import type { Io } from '../io.ts';
import { UsageError } from '../usage-error.ts';

/** Reads the JSON of an option: inline, `@file`, or `-` for standard input. */
export async function readJsonOption(io: Io, option: string, value: string): Promise<Json> {
  if (value === '-') return parse(await text(io.stdin), 'Standard input', `${option} - reads JSON from it.`);
  if (value.startsWith('@')) return readJsonFile(option, value.slice(1));
  const hint = /^[\s[{"]/.test(value)
    ? `Put single quotes around it for the shell: ${option} '{"name": "value"}'`
    : `A JSON string needs double quotes: ${option} '${JSON.stringify(value)}'. A file needs an @: ${option} @file.json`;
  return parse(value, `The value of ${option}`, hint);
}

/** Reads a JSON file. */
export async function readJsonFile(option: string, file: string): Promise<Json> {
  return parse(await readTextFile(file, option), `The file ${file}`, `${option} needs a JSON file.`);
}

/** Reads a file, or standard input for `-`. */
export async function readFileOrStdin(io: Io, file: string): Promise<string> {
  return file === '-' ? text(io.stdin) : readTextFile(file, 'FILE');
}

/** Reads a file. Throws a usage error with the reason. */
export async function readTextFile(file: string, option: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${describeReadFailure(file, error)}`, `${option} is relative to ${process.cwd()}.`);
  }
}

function describeReadFailure(file: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return `There is no file ${file}.`;
    case 'EISDIR':
      return `${file} is a folder, not a file.`;
    case 'EACCES':
      return `No permission to read the file ${file}.`;
    default:
      return `The file ${file} cannot be read: ${message}`;
  }
}

function parse(source: string, subject: string, hint: string): Json {
  if (source.trim() === '') throw new UsageError(`${subject} is empty, not JSON.`, hint);
  try {
    return JSON.parse(source.replace(/^\uFEFF/, '')) as Json;
  } catch (error) {
    throw new UsageError(`${subject} is not JSON: ${(error as SyntaxError).message}`, hint);
  }
}

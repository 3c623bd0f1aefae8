import type { Json } from '../json.ts';
import { validateInput } from './validate.ts';

/** Returns the value of JSON text, validated like any input, or a `problem` with the reason why it has none. */
export function readJsonText(text: string): { value?: Json; problem?: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { problem: `${(error as SyntaxError).message}.` };
  }
  let problem: string | undefined;
  const value = validateInput(parsed, { push: ({ message }) => (problem ??= message) });
  return problem === undefined && value !== undefined
    ? { value }
    : { problem: problem ?? 'It has no value.' };
}

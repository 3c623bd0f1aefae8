import type { Json } from '../json.ts';
import { validateInput } from './validate.ts';

/** Returns the value of JSON text, validated like any input, or a `fault` with the reason why it has none. */
export function readJsonText(text: string): { value?: Json; fault?: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { fault: `${(error as SyntaxError).message}.` };
  }
  let fault: string | undefined;
  const value = validateInput(parsed, { push: ({ message }) => (fault ??= message) });
  return fault === undefined && value !== undefined ? { value } : { fault: fault ?? 'It has no value.' };
}

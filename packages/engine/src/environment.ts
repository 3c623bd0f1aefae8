import type { EnvironmentValue } from './options.ts';

/** The values of `{{NAME}}`, and those of them that must never be recorded. */
export function environmentOf(given: { readonly [name: string]: EnvironmentValue }): {
  env: { [name: string]: string };
  secrets: { [name: string]: string };
} {
  const env: [string, string][] = [];
  const secrets: [string, string][] = [];
  for (const [name, value] of Object.entries(given)) {
    const text = typeof value === 'string' ? value : value.value;
    env.push([name, text]);
    if (typeof value === 'string') secrets.push([name, text]);
  }
  return { env: Object.fromEntries(env), secrets: Object.fromEntries(secrets) };
}

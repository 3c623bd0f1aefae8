import type { EnvironmentValue, TenantEnvironments } from '@heddle/engine';

/** A placeholder: `{{NAME}}`. */
const PLACEHOLDER = /\{\{\s*([^{}\s]+)\s*\}\}/g;

/** A string whose placeholders were replaced by their values. */
interface FilledText {
  text: string;
  /** The values that are secrets, by name. */
  secrets: ReadonlyMap<string, string>;
}

/**
 * Replaces each `{{NAME}}` in the string with its value in the workspace. Returns undefined if a placeholder has no
 * value or an empty value.
 */
export async function fillPlaceholders(
  environments: Partial<TenantEnvironments> | undefined,
  workspaceId: string,
  text: string,
): Promise<FilledText | undefined> {
  const names = [...new Set([...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name))];
  if (names.length === 0) return { text, secrets: new Map() };
  const values = (await environments?.values?.(workspaceId, names)) ?? {};
  // The author chooses the names, so a name can be a property of Object.prototype.
  const pairs = names.map((name) => [name, Object.hasOwn(values, name) ? values[name] : undefined] as const);
  const stringsByName = new Map(pairs.map(([name, value]) => [name, stringValueOf(value)]));
  if ([...stringsByName.values()].includes('')) return undefined;
  return {
    text: text.replaceAll(PLACEHOLDER, (_match, name: string) => stringsByName.get(name) ?? ''),
    secrets: new Map(
      pairs.flatMap(([name, value]) => (isSecret(value) ? [[name, stringValueOf(value)]] : [])),
    ),
  };
}

function stringValueOf(value: EnvironmentValue | undefined): string {
  return typeof value === 'string' ? value : (value?.value ?? '');
}

function isSecret(value: EnvironmentValue | undefined): boolean {
  return typeof value === 'string' || value?.secret !== false;
}

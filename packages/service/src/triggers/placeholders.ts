import type { EnvironmentValue, TenantEnvironments } from '@heddle/engine';

/** `{{NAME}}`. */
const PLACEHOLDER = /\{\{\s*([^{}\s]+)\s*\}\}/g;

/** A string with its values filled in. */
interface FilledText {
  text: string;
  /** The values that are secrets, by name. */
  secrets: ReadonlyMap<string, string>;
}

/** Returns the text with the values of `{{NAME}}` of the workspace; undefined if one of them has no value. */
export async function filledText(
  environments: Partial<TenantEnvironments> | undefined,
  workspaceId: string,
  text: string,
): Promise<FilledText | undefined> {
  const names = [...new Set([...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name))];
  if (names.length === 0) return { text, secrets: new Map() };
  const values = (await environments?.values?.(workspaceId, names)) ?? {};
  // The author chooses the names, so a name can be a property of Object.prototype.
  const known = names.map((name) => [name, Object.hasOwn(values, name) ? values[name] : undefined] as const);
  const texts = new Map(known.map(([name, value]) => [name, textOf(value)]));
  if ([...texts.values()].includes('')) return undefined;
  return {
    text: text.replaceAll(PLACEHOLDER, (_all, name: string) => texts.get(name) ?? ''),
    secrets: new Map(known.flatMap(([name, value]) => (isSecret(value) ? [[name, textOf(value)]] : []))),
  };
}

function textOf(value: EnvironmentValue | undefined): string {
  return typeof value === 'string' ? value : (value?.value ?? '');
}

function isSecret(value: EnvironmentValue | undefined): boolean {
  return typeof value === 'string' || value?.secret !== false;
}

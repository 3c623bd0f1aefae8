const SERVER_NAME_PATTERN = /^[a-z0-9][a-z0-9_-]{0,63}$/i;
const MAX_TOOL_NAME_CHARS = 64;
const MAX_DESCRIPTION_CHARS = 2000;

/** Returns whether a string can be the name of a server. */
export function isServerName(name: string): boolean {
  return SERVER_NAME_PATTERN.test(name);
}

/** Returns a tool name for the model that is not in `usedNames`: several servers may have a tool of the same name. */
export function uniqueName(server: string, tool: string, usedNames: ReadonlySet<string>): string {
  const shortName = sanitizeName(tool);
  if (!usedNames.has(shortName)) return shortName;
  const fullName = sanitizeName(`${server}_${tool}`);
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '' : `_${number}`;
    const name = `${fullName.slice(0, MAX_TOOL_NAME_CHARS - suffix.length)}${suffix}`;
    if (!usedNames.has(name)) return name;
  }
}

/** Returns the description of a tool for the model: shortened, and without invisible characters. */
export function sanitizeDescription(text: string | undefined): string {
  const truncatedText = (text ?? '').slice(0, MAX_DESCRIPTION_CHARS);
  return truncatedText.toWellFormed().replaceAll(/[^\P{C}\n\t]/gu, '');
}

function sanitizeName(name: string): string {
  return name.slice(0, MAX_TOOL_NAME_CHARS).replaceAll(/[^a-zA-Z0-9_-]/g, '_') || 'tool';
}

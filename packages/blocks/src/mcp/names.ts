const SERVER = /^[a-z0-9][a-z0-9_-]{0,63}$/i;
const MAX_TOOL_NAME = 64;
const MAX_DESCRIPTION = 2000;

/** Returns whether a text can be the name of a server. */
export function isNamed(name: string): boolean {
  return SERVER.test(name);
}

/** Returns a name of a tool for the model that is not yet in `taken`. Servers choose names freely, even names of other tools. */
export function freeName(server: string, tool: string, taken: ReadonlySet<string>): string {
  const plain = cleaned(tool);
  if (!taken.has(plain)) return plain;
  const full = cleaned(`${server}_${tool}`);
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '' : `_${number}`;
    const name = `${full.slice(0, MAX_TOOL_NAME - suffix.length)}${suffix}`;
    if (!taken.has(name)) return name;
  }
}

/** Returns the description of a tool for the model: shortened, and without characters that people do not see. */
export function shownDescription(text: string | undefined): string {
  const start = (text ?? '').slice(0, MAX_DESCRIPTION);
  return start.toWellFormed().replaceAll(/[^\P{C}\n\t]/gu, '');
}

function cleaned(name: string): string {
  return name.slice(0, MAX_TOOL_NAME).replaceAll(/[^a-zA-Z0-9_-]/g, '_') || 'tool';
}

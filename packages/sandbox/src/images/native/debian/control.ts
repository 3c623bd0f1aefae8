/** The fields of one paragraph, by their names in lower case. */
export type Paragraph = ReadonlyMap<string, string>;

/** The fields of a paragraph of Debian's control files; lines that go on are joined by newlines. */
export function readParagraph(text: string): Paragraph {
  const fields = new Map<string, string>();
  let name = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) continue;
    if (/^[ \t]/.test(line)) {
      if (name !== '') fields.set(name, `${fields.get(name) ?? ''}\n${line.trim()}`);
      continue;
    }
    const colon = line.indexOf(':');
    if (colon < 1) continue;
    name = line.slice(0, colon).toLowerCase();
    fields.set(name, line.slice(colon + 1).trim());
  }
  return fields;
}

/** The paragraphs of a text, each as text. */
export function paragraphsOf(text: string): string[] {
  return text.split(/\n[ \t]*\n+/).filter((paragraph) => paragraph.trim() !== '');
}
